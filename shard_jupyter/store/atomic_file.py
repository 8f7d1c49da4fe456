"""Files that are whole or not there, lines that end, folders nobody else may enter.

Blocking: on an event loop call these through a thread, or use the `a…` wrappers. They raise
`OSError` as it comes, because only the caller knows whose file it was.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
import sys
from functools import partial
from pathlib import Path

import anyio.to_thread

from shard_jupyter.errors import Bug

if sys.platform == "darwin":
    import fcntl

LF = b"\n"
PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700
_CANNOT_SYNC = frozenset({errno.EINVAL, errno.ENOTSUP})


def write_atomic(path: Path, data: bytes, *, mode: int = PRIVATE_FILE, sync: bool = True) -> None:
    """Replace `path` by a file that holds `data`; a reader sees the old or the new one.

    Without `sync` it is still atomic for other processes, but may be lost with the power.
    """
    # Not built from the target's name, which may already be as long as a name can be.
    temporary = path.parent / f".tmp-{secrets.token_hex(12)}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, PRIVATE_FILE)
    try:
        try:
            write_all(descriptor, data)
            os.fchmod(descriptor, mode)
            if sync:
                sync_file(descriptor)
        finally:
            os.close(descriptor)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    if sync:
        sync_folder(path.parent)


async def awrite_atomic(path: Path, data: bytes, *, mode: int = PRIVATE_FILE) -> None:
    """Do `write_atomic` in a thread. Cancellation waits for the end of the write."""
    await anyio.to_thread.run_sync(partial(write_atomic, path, data, mode=mode))


def append_line(path: Path, data: bytes, *, sync: bool = False) -> None:
    """Append `data` and a line end, in one write. For small logs with several writers.

    Where the last writer died in the middle of a line, a line end goes first, so that only its
    record is lost and not this one.
    """
    if LF in data:
        raise Bug("a record for a line log holds a line end")
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
    descriptor = os.open(path, flags, PRIVATE_FILE)
    try:
        size = os.fstat(descriptor).st_size
        torn = size > 0 and os.pread(descriptor, 1, size - 1) != LF
        write_all(descriptor, (LF if torn else b"") + data + LF)
        if sync:
            sync_data(descriptor)
    finally:
        os.close(descriptor)


async def aappend_line(path: Path, data: bytes, *, sync: bool = False) -> None:
    """Do `append_line` in a thread."""
    await anyio.to_thread.run_sync(partial(append_line, path, data, sync=sync))


def make_private_folder(path: Path) -> None:
    """Make a folder, and every missing one above it, with mode 0700; durable on return.

    An existing `path` of ours that others may enter is closed to them.
    """
    missing = []
    folder = path
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    for each in reversed(missing):
        each.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
        sync_folder(each.parent)
    status = path.stat()
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
    if status.st_uid == os.getuid() and status.st_mode & 0o077:
        path.chmod(PRIVATE_FOLDER)


def write_all(descriptor: int, data: bytes) -> None:
    """Write every byte. On an error some of them may have been written."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def sync_file(descriptor: int) -> None:
    """Return when the bytes and the inode are on the disk itself."""
    if sys.platform == "darwin":
        # fsync there stops at the drive's cache.
        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    else:
        os.fsync(descriptor)


def sync_data(descriptor: int) -> None:
    """Return when the bytes, and the size needed to read them, are on the disk."""
    if sys.platform == "darwin":
        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    else:
        os.fdatasync(descriptor)


def sync_folder(path: Path) -> None:
    """Make names made, renamed or removed in `path` durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some network file systems have no such call; their names are durable at once.
        if error.errno not in _CANNOT_SYNC:
            raise
    finally:
        os.close(descriptor)
