"""Replace a file in one step: readers see the old bytes or the new, never a part."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress

from shard_jupyter.core.files.path_guard import Located, in_words, is_at, open_for_read, shown
from shard_jupyter.errors import ToolFailed

MAX_FILE_BYTES = 32 << 20
"""The largest file that is read whole, to be edited, compared or replaced."""


def read_whole(located: Located) -> bytes:
    """Read a regular file, in a thread.

    Raises:
        ToolFailed: it is missing, no regular file, or larger than `MAX_FILE_BYTES`.
    """
    with os.fdopen(open_for_read(located), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > MAX_FILE_BYTES:
            raise ToolFailed(
                f"{shown(located.given)} has {size:,} bytes; {MAX_FILE_BYTES:,} is the limit.",
                next_step="Use bash.",
            )
        return file.read()


def read_if_there(located: Located) -> bytes | None:
    """As `read_whole`; None when there is no such file."""
    return read_whole(located) if os.path.lexists(located.real) else None


def replace_file(located: Located, data: bytes) -> None:
    """Write `data` beside the file, sync it, and rename it over; keeps mode and owner.

    A new file gets 0666 less the umask, missing folders are made. Other hard links of an old file
    keep the old content. Runs in a thread.

    Raises:
        ToolFailed: the system refused, or a folder on the way was exchanged meanwhile.
    """
    try:
        located.real.parent.mkdir(parents=True, exist_ok=True)
        folder = os.open(located.real.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            if not is_at(folder, located.real.parent):
                raise ToolFailed(f"The folder of {shown(located.given)} changed meanwhile.")
            _replace_in(folder, located, data)
        finally:
            os.close(folder)
    except OSError as error:
        raise in_words(error, located.given) from error


def _replace_in(folder: int, located: Located, data: bytes) -> None:
    name = located.real.name
    old = _status_in(folder, name)
    if old is not None and not stat.S_ISREG(old.st_mode):
        raise ToolFailed(f"{shown(located.given)} is no regular file.")
    temporary = f".shard-{secrets.token_hex(8)}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, 0o666, dir_fd=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            if old is not None:
                _keep_owner_and_mode(file.fileno(), old)
            # Without it a power cut may leave an empty file in the place of both.
            os.fsync(file.fileno())
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        with suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=folder)
        raise


def _status_in(folder: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _keep_owner_and_mode(descriptor: int, old: os.stat_result) -> None:
    new = os.fstat(descriptor)
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        with suppress(PermissionError):  # only root may give files away; the file is then ours
            os.fchown(descriptor, old.st_uid, old.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(old.st_mode))
