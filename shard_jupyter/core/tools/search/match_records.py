"""Reads the matches that ripgrep or our own searcher prints, as they come.

A record is `path NUL line ':' column ':' text LF` for a match and `path NUL line '-' text LF` for a
line of context. Records may be as long as a file (one line of 3 MB): only a window around the match
is kept of each, so that a minified file cannot flood anybody.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

MAX_RECORD_BYTES = 16 << 20
"""Of a longer line the rest is counted and not kept."""
SHOWN_BEFORE = 120
SHOWN_AFTER = 360
"""Bytes of a long line that are shown before and after the start of the match."""
_NUMBERS = re.compile(rb"(\d+)(?::(\d+):|-)")


@dataclass(frozen=True)
class MatchLine:
    """One line to show; `column` (1-based, bytes) is None for context."""

    path: str
    line: int
    column: int | None
    text: str


class MatchReader:
    """Feed it chunks; it keeps `limit` matches with their context and counts all."""

    def __init__(self, limit: int) -> None:
        self.lines: list[MatchLine] = []
        self.matches = 0
        self.files = 0
        self._limit = limit
        self._last_path = b""
        self._buffer = bytearray()
        self._dropped = 0

    def feed(self, chunk: bytes) -> None:
        first, *rest = chunk.split(b"\n")
        self._extend(first)
        for piece in rest:
            self._end_record()
            self._extend(piece)

    def _extend(self, piece: bytes) -> None:
        room = MAX_RECORD_BYTES - len(self._buffer)
        self._buffer += piece[:room]
        self._dropped += max(len(piece) - room, 0)

    def _end_record(self) -> None:
        record = bytes(self._buffer)
        path, found, rest = record.partition(b"\0")
        if not found and b"binary file matches" not in record and record:
            self._buffer += b"\n"  # a line feed in the name of a file
            return
        dropped, self._dropped = self._dropped, 0
        self._buffer.clear()
        numbers = _NUMBERS.match(rest)
        if numbers is not None:
            self._keep(path, numbers, rest[numbers.end() :], dropped)

    def _keep(self, path: bytes, numbers: re.Match[bytes], text: bytes, dropped: int) -> None:
        column = int(numbers[2]) if numbers[2] else None
        if column is not None:
            self.matches += 1
            if path != self._last_path:
                self.files += 1
                self._last_path = path
        if self.matches <= self._limit:
            shown = cut_around(text.removesuffix(b"\r"), (column or 1) - 1, dropped)
            self.lines.append(MatchLine(os.fsdecode(path), int(numbers[1]), column, shown))


def cut_around(text: bytes, at: int, dropped: int = 0) -> str:
    """The part of a long line in which the match starts, with how much was cut on each side."""
    if len(text) + dropped <= SHOWN_BEFORE + SHOWN_AFTER:
        return text.decode("utf-8", "replace")
    start = max(at - SHOWN_BEFORE, 0)
    end = min(at + SHOWN_AFTER, len(text))
    before = f"…[{start:,} bytes cut]…" if start else ""
    after_bytes = len(text) - end + dropped
    after = f"…[{after_bytes:,} bytes cut]…" if after_bytes else ""
    return before + text[start:end].decode("utf-8", "ignore") + after
