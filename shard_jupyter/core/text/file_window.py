"""A run of lines out of a file of any length, in bounded memory. Blocking: call it in a thread."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import BinaryIO

from shard_jupyter.core.files.path_guard import Located, shown
from shard_jupyter.core.files.safe_open import open_for_read
from shard_jupyter.core.text.text_encoding import (
    UTF8,
    TextEncoding,
    detect_encoding,
    looks_binary,
)
from shard_jupyter.core.text.text_lines import split_lines
from shard_jupyter.core.text.truncation import decode_head
from shard_jupyter.errors import ToolFailed

WHOLE_BYTES = 8 << 20
"""Up to here a file is read whole, which is what finding out its encoding takes."""
STEP_BYTES = 1 << 20
LINE_BYTES = 1 << 20
"""Of a longer line in a long file only the start is kept."""

_IMAGES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
MAX_IMAGE_BYTES = 16 << 20


@dataclass(frozen=True)
class Image:
    data: bytes
    media_type: str


@dataclass(frozen=True)
class Window:
    """Lines `first` to `first + len(lines) - 1`; `total_lines` is None where nobody counted."""

    lines: list[str]
    first: int
    total_lines: int | None
    size_bytes: int
    encoding: TextEncoding
    has_crlf: bool


def read_window(located: Located, first: int, count: int) -> Window | Image:
    """Read lines `first` (1-based) and on, or a whole image.

    Raises:
        ToolFailed: missing, no regular file, or neither text nor an image.
    """
    with os.fdopen(open_for_read(located), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        start = file.read(min(size, WHOLE_BYTES) if size else WHOLE_BYTES)
        media_type = image_type(start)
        if media_type:
            return _read_image(located, start, file, size, media_type)
        if looks_binary(start):
            raise _binary(located, size)
        if size > WHOLE_BYTES:
            return _read_far(file, start, first, count, size)
    return _read_near(located, start, first, count)


def image_type(start: bytes) -> str:
    if start[:4] == b"RIFF" and start[8:12] == b"WEBP":
        return "image/webp"
    return next((media for magic, media in _IMAGES if start.startswith(magic)), "")


def _read_image(
    located: Located, start: bytes, file: BinaryIO, size: int, media_type: str
) -> Image:
    if size > MAX_IMAGE_BYTES:
        raise ToolFailed(
            f"{shown(located.given)} is an image of {size:,} bytes; "
            f"{MAX_IMAGE_BYTES:,} is the limit."
        )
    return Image(start + file.read(), media_type)


def _binary(located: Located, size: int) -> ToolFailed:
    return ToolFailed(
        f"{shown(located.given)} is a binary file of {size:,} bytes, which cannot be shown as text.",
        next_step="Use bash with a program that understands it.",
    )


def _read_near(located: Located, data: bytes, first: int, count: int) -> Window:
    encoding = detect_encoding(data)
    if encoding is None:
        raise _binary(located, len(data))
    lines = split_lines(encoding.decode(data))
    has_crlf = any(line.endswith("\r") for line in lines)
    chosen = [line.removesuffix("\r") for line in lines[first - 1 : first - 1 + count]]
    return Window(chosen, first, len(lines), len(data), encoding, has_crlf)


def _read_far(file: BinaryIO, start: bytes, first: int, count: int, size: int) -> Window:
    """A long file, read from its start to the last line wanted and not kept on the way."""
    encoding = UTF8
    lines: list[str] = []
    number = 1
    rest = start
    pending = b""
    while rest and len(lines) < count:
        *whole, pending = (pending + rest).split(b"\n")
        skipped = max(first - number, 0)
        number += len(whole)
        lines += [_text_of(line) for line in whole[skipped : skipped + count - len(lines)]]
        if len(pending) > LINE_BYTES:
            pending = pending[:LINE_BYTES]
        rest = file.read(STEP_BYTES)
    at_end = not rest and len(lines) < count
    if at_end and pending:
        if number >= first:
            lines.append(_text_of(pending))
        number += 1
    return Window(
        [line.removesuffix("\r") for line in lines],
        first,
        number - 1 if at_end else None,
        size,
        encoding,
        any(line.endswith("\r") for line in lines),
    )


def _text_of(line: bytes) -> str:
    return decode_head(line[:LINE_BYTES])
