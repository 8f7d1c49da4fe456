"""Open the file or folder that was judged, and nothing that has taken its place since.

Inside the workspace all is opened below it, following no link. What lies outside was allowed by
name: there the name of the opened descriptor is compared with the path that was judged.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from shard_jupyter.core.files.open_beneath import PATH_ONLY, OpenRoot
from shard_jupyter.core.files.path_guard import Located, follow, in_words, shown
from shard_jupyter.errors import ToolFailed

_OPEN_FILES = Path("/proc/self/fd")
_MOVED = frozenset({errno.ELOOP, errno.EXDEV})


def open_for_read(located: Located) -> int:
    """Open the regular file that was judged; the caller closes the descriptor.

    Raises:
        ToolFailed: it does not exist, is no regular file, or changed its place meanwhile.
    """
    with telling(located):
        # O_NONBLOCK: a pipe put there meanwhile must not hang us.
        descriptor = _open(located, os.O_RDONLY | os.O_NONBLOCK)
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode) and is_at(descriptor, located):
        return descriptor
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise ToolFailed(f"{shown(located.given)} is a folder.", next_step="Use ls.")
    raise changed(located)


@contextmanager
def open_folder(located: Located) -> Iterator[int]:
    """Open the folder that was judged, for reading; it is closed at the end.

    Raises:
        ToolFailed: it does not exist, is no folder, or changed its place meanwhile.
    """
    with telling(located):
        descriptor = _open(located, os.O_RDONLY | os.O_NONBLOCK)
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise ToolFailed(f"{shown(located.given)} is a file.", next_step="Use read.")
        if not is_at(descriptor, located):
            raise changed(located)
        yield descriptor
    finally:
        os.close(descriptor)


def status_of(located: Located) -> os.stat_result | None:
    """Look at what was judged; None if there is nothing, or no longer what was judged."""
    if located.workspace is None:
        with suppress(OSError):
            return located.real.lstat()
        return None
    with suppress(OSError):
        descriptor = _open(located, PATH_ONLY or os.O_NONBLOCK)
        try:
            return os.fstat(descriptor)
        finally:
            os.close(descriptor)
    return None


@contextmanager
def open_parent(located: Located) -> Iterator[int]:
    """Open the folder of a file that is to be written; missing folders are made.

    Raises:
        OSError: the system refused; see `telling`.
        ToolFailed: a folder on the way was exchanged meanwhile.
    """
    if located.workspace is not None:
        parts = located.real.relative_to(located.workspace).parts
        if not parts:
            raise ToolFailed(f"{shown(located.given)} is no regular file.")
        with OpenRoot(located.workspace) as root:
            folder = root.make_folder(parts[:-1])
    else:
        located.real.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
        folder = os.open(located.real.parent, flags)
    try:
        if located.workspace is None and not _has_name(folder, located.real.parent):
            raise changed(located)
        yield folder
    finally:
        os.close(folder)


@contextmanager
def telling(located: Located) -> Iterator[None]:
    """Turn what the system says into words for the model."""
    try:
        yield
    except OSError as error:
        if error.errno in _MOVED:
            raise changed(located) from error
        raise in_words(error, located.given) from error


def changed(located: Located) -> ToolFailed:
    return ToolFailed(f"{shown(located.given)} changed while it was opened.")


def is_at(descriptor: int, located: Located) -> bool:
    """True if the open file is what was judged. Below a workspace nothing else can be opened."""
    return located.workspace is not None or _has_name(descriptor, located.real)


def _open(located: Located, flags: int) -> int:
    if located.workspace is None:
        return os.open(located.real, flags | os.O_NOFOLLOW | os.O_CLOEXEC)
    with OpenRoot(located.workspace) as root:
        return root.open(located.real.relative_to(located.workspace).parts, flags)


def _has_name(descriptor: int, real: Path) -> bool:
    """The descriptor still has the name under which it was judged."""
    if _OPEN_FILES.is_dir():
        return (_OPEN_FILES / str(descriptor)).readlink() == real
    return os.path.samestat(os.fstat(descriptor), real.lstat()) and real == follow(real)
