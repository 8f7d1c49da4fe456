"""Open what lies below a folder, following no link on the way (reference: security.md §1e).

Linux does it in one call, `openat2`. Elsewhere, and where a container forbids that call, each part
of the path is opened in the one before it. Both see the same: a link in the place of a part that
was judged to be none is `ELOOP`, and no swap of folders leads out of the open root.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import stat
import sys
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Self

_SYS_OPENAT2 = 437
_MACHINES = frozenset({"x86_64", "aarch64"})
_RESOLVE_NO_MAGICLINKS = 0x02
_RESOLVE_NO_SYMLINKS = 0x04
_RESOLVE_BENEATH = 0x08
_RESOLVE = _RESOLVE_NO_MAGICLINKS | _RESOLVE_NO_SYMLINKS | _RESOLVE_BENEATH
_TRIES = 50

# Enough to go through a folder that one may not list. Where there is no such flag it must be read.
PATH_ONLY = getattr(os, "O_PATH", os.O_RDONLY)
_FOLDER = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class _OpenHow(ctypes.Structure):
    _fields_ = (
        ("flags", ctypes.c_uint64),
        ("mode", ctypes.c_uint64),
        ("resolve", ctypes.c_uint64),
    )


class OpenRoot:
    """One folder held open. Parts of paths are plain names: no slash, neither `.` nor `..`.

    All methods raise `OSError`; `ELOOP` or `EXDEV` mean that something changed its place.
    """

    def __init__(self, folder: Path) -> None:
        self._root = os.open(folder, PATH_ONLY | _FOLDER)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._root)

    def open(self, parts: Sequence[str], flags: int) -> int:
        """Open without following a link, the last part included; the caller closes."""
        flags |= os.O_NOFOLLOW | os.O_CLOEXEC
        if has_openat2():
            try:
                return _openat2(self._root, "/".join(parts) or ".", flags)
            except NotADirectoryError:
                pass  # said of a link too, where a folder is wanted: looked at part by part
        return self._open_by_parts(parts, flags)

    def make_folder(self, parts: Sequence[str]) -> int:
        """Open a folder for reading; what is missing of it is made (0777 less the umask)."""
        flags = os.O_RDONLY | _FOLDER
        try:
            return self.open(parts, flags)
        except FileNotFoundError:
            return self._make_by_parts(parts, flags)

    def _open_by_parts(self, parts: Sequence[str], flags: int) -> int:
        *folders, last = parts or (".",)
        current = os.dup(self._root)
        try:
            for part in folders:
                current = _step(current, part, PATH_ONLY | _FOLDER)
            return _open_part(current, last, flags)
        finally:
            os.close(current)

    def _make_by_parts(self, parts: Sequence[str], flags: int) -> int:
        current = os.open(".", flags, dir_fd=self._root)
        try:
            for part in parts:
                current = _step_making(current, part, flags)
        except OSError:
            os.close(current)
            raise
        return current


@lru_cache(maxsize=1)
def has_openat2() -> bool:
    """Ask the kernel, once: it may be too old, and a filter may refuse what it does not know."""
    if sys.platform != "linux" or platform.machine() not in _MACHINES:
        return False
    root = os.open("/", PATH_ONLY | _FOLDER)
    try:
        os.close(_openat2(root, ".", PATH_ONLY | _FOLDER))
    except OSError:
        return False
    finally:
        os.close(root)
    return True


def sync_folder(descriptor: int) -> None:
    """Make a name in the folder last; some file systems have no such thing."""
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise


@lru_cache(maxsize=1)
def _syscall() -> ctypes._NamedFuncPointer:
    function = ctypes.CDLL(None, use_errno=True).syscall
    function.restype = ctypes.c_long
    function.argtypes = (
        ctypes.c_long,
        ctypes.c_int,
        ctypes.c_char_p,
        ctypes.POINTER(_OpenHow),
        ctypes.c_size_t,
    )
    return function


def _openat2(folder: int, path: str, flags: int) -> int:
    how = _OpenHow(flags, 0, _RESOLVE)
    code = 0
    for _ in range(_TRIES):
        opened = int(_syscall()(_SYS_OPENAT2, folder, os.fsencode(path), how, ctypes.sizeof(how)))
        if opened >= 0:
            return opened
        code = ctypes.get_errno()
        # EAGAIN: something was renamed on the way, so that the kernel could not be sure.
        if code not in (errno.EINTR, errno.EAGAIN):
            break
    raise OSError(code, os.strerror(code), path)


def _step(current: int, part: str, flags: int) -> int:
    """Go into a folder; closes the one that is left, unless it fails."""
    following = _open_part(current, part, flags)
    os.close(current)
    return following


def _step_making(current: int, part: str, flags: int) -> int:
    try:
        return _step(current, part, flags)
    except FileNotFoundError:
        pass
    try:
        os.mkdir(part, dir_fd=current)
        sync_folder(current)
    except FileExistsError:  # somebody else made it meanwhile, whatever it is
        pass
    return _step(current, part, flags)


def _open_part(folder: int, part: str, flags: int) -> int:
    try:
        return os.open(part, flags, dir_fd=folder)
    except NotADirectoryError:
        # Of a link the system says the same as of a file.
        if stat.S_ISLNK(os.stat(part, dir_fd=folder, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), part) from None
        raise
