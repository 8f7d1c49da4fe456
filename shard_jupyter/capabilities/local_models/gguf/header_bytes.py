"""The bytes of a header, read in pieces and never beyond the end.

The file is read, not mapped: a mapped file that another program cuts short kills the process.
"""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shard_jupyter.capabilities.local_models.gguf.refusals import BadModelFile, Reason

PIECE = 1 << 16
"""No larger: behind each long text that is skipped, one is read again for a few bytes of it."""
SMALLEST = 24
"""Bytes of magic, version and the two counts."""
_UINT32 = struct.Struct("<I")
_UINT64 = struct.Struct("<Q")


class HeaderBytes:
    """A position in an open file. `size` and `stamp` are those of the moment it was opened.

    Every read raises `BadModelFile` where the file is too short for it.
    """

    def __init__(self, path: Path, descriptor: int, look: os.stat_result, piece: int) -> None:
        self.path, self.size, self.stamp = path, look.st_size, look.st_mtime_ns
        self._descriptor = descriptor
        self._piece_size = piece
        self._piece = b""
        self._start = 0
        self._at = 0

    @property
    def position(self) -> int:
        return self._start + self._at

    @property
    def rest(self) -> int:
        return self.size - self.position

    def refuse(self, reason: Reason, what: str, *, next_step: str = "") -> BadModelFile:
        return BadModelFile(reason, self.path, what, next_step=next_step)

    def read_uint32(self) -> int:
        self._hold(4)
        (value,) = _UINT32.unpack_from(self._piece, self._at)
        self._at += 4
        return int(value)

    def read_uint64(self) -> int:
        self._hold(8)
        (value,) = _UINT64.unpack_from(self._piece, self._at)
        self._at += 8
        return int(value)

    def read(self, count: int) -> bytes:
        """Read bytes; the caller has bounded `count`."""
        self._hold(count)
        data = self._piece[self._at : self._at + count]
        self._at += count
        return data

    def read_length(self) -> int:
        """Read the length of a string and check that it lies in the file."""
        length = self.read_uint64()
        if length > self.rest:
            raise self._say_too_long(length)
        return length

    def skip(self, count: int) -> None:
        """Go on without reading; the caller has checked that `count` lies in the file."""
        self._at += count

    def skip_strings(self, count: int) -> None:
        """Go past strings one after the other. Made for a vocabulary: 300 000 in a moment."""
        piece, at, unpack = self._piece, self._at, _UINT64.unpack_from
        last = len(piece) - 8
        for _ in range(count):
            if at > last:
                self._at = at
                if self.rest < 0:
                    raise self._say_too_long(at)
                self._hold(8)
                piece, at = self._piece, self._at
                last = len(piece) - 8
            at += 8 + unpack(piece, at)[0]
        self._at = at
        if self.rest < 0:
            raise self._say_too_long(at)

    def _hold(self, count: int) -> None:
        """Have `count` bytes at hand from the position on."""
        if len(self._piece) - self._at >= count:
            return
        start = self.position
        if count > self.size - start:
            raise self.refuse("cut", "ends in the middle of its header.")
        try:
            self._piece = os.pread(self._descriptor, max(count, self._piece_size), start)
        except OSError as error:
            raise self.refuse("unreadable", f"cannot be read: {error.strerror}.") from error
        self._start, self._at = start, 0
        if len(self._piece) < count:
            raise self.refuse("cut", "became shorter while it was read.")

    def _say_too_long(self, length: int) -> BadModelFile:
        return self.refuse(
            "string_length",
            f"names a text of {length} bytes that would end beyond the end of the file.",
        )


@contextmanager
def open_header(path: Path, piece: int = PIECE) -> Iterator[HeaderBytes]:
    """Open a file for reading its header, `piece` bytes at a time.

    Raises:
        BadModelFile: it is not there, not readable, no regular file, or too small to be a model.
    """
    descriptor = _open_regular(path)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):  # it was replaced between the two looks
            raise _say_not_a_file(path, found.st_mode)
        if found.st_size < SMALLEST:
            size = f"{found.st_size} bytes" if found.st_size else "empty"
            raise BadModelFile("too_small", path, f"is {size}: too small to be a model.")
        yield HeaderBytes(path, descriptor, found, piece)
    finally:
        os.close(descriptor)


def _open_regular(path: Path) -> int:
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):  # opening a device can do things
            raise _say_not_a_file(path, mode)
        # O_NONBLOCK: should it become a pipe now, opening it does not wait for a writer.
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise BadModelFile("missing", path, "is not there (any more).") from error
    except OSError as error:
        what = f"cannot be read: {error.strerror}."
        raise BadModelFile("unreadable", path, what) from error
    except ValueError as error:  # a NUL in the path
        raise BadModelFile("missing", path, "is no possible file name.") from error


def _say_not_a_file(path: Path, mode: int) -> BadModelFile:
    kind = "a folder" if stat.S_ISDIR(mode) else "no regular file"
    return BadModelFile("not_a_file", path, f"is {kind}, not a model file.")
