"""Makes text fit for a model: bounded, valid, and saying what was left out."""

from __future__ import annotations

import re

LINE_CHARS = 2000
"""The longest line that is shown whole."""
CUT_HEAD_CHARS = 1400
CUT_TAIL_CHARS = 400

_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*(?:\x1b\\)?|[ -/]*[0-~])"
)
_SURROGATES = re.compile("[\ud800-\udfff]")


def clean_text(text: str) -> str:
    """Make text valid for every wire: no lone surrogate (half a pair), zero bytes visible."""
    return _SURROGATES.sub("\ufffd", text).replace("\0", "\u2400")


def strip_escapes(text: str) -> str:
    """Remove terminal sequences (colours, cursor, titles) and CR before LF."""
    return _ESCAPES.sub("", text).replace("\r\n", "\n")


def cut_line(line: str) -> str:
    """Cut the middle out of a long line and say how much."""
    if len(line) <= LINE_CHARS:
        return line
    cut = len(line) - CUT_HEAD_CHARS - CUT_TAIL_CHARS
    return f"{line[:CUT_HEAD_CHARS]}…[{cut:,} characters cut]…{line[-CUT_TAIL_CHARS:]}"


def size_of(text: str) -> int:
    """Bytes as UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def fit_lines(lines: list[str], limit_bytes: int) -> list[str]:
    """The first lines that fit, one byte a line counted for its end; at least one."""
    used = 0
    for index, line in enumerate(lines):
        used += size_of(line) + 1
        if used > limit_bytes and index > 0:
            return lines[:index]
    return lines


def fit_text(text: str, limit_bytes: int) -> str:
    """Cut the middle out of a text that is larger, and say how much."""
    excess = size_of(text) - limit_bytes
    if excess <= 0:
        return text
    data = text.encode("utf-8", "replace")
    head = limit_bytes // 3
    return (
        decode_head(data[:head])
        + f"\n[… {excess:,} bytes cut …]\n"
        + decode_tail(data[head + excess :])
    )


def decode_head(data: bytes) -> str:
    """Text of bytes that may end inside a character, which is then left out."""
    return data[: len(data) - torn_bytes(data)].decode("utf-8", "replace")


def decode_tail(data: bytes) -> str:
    """Text of bytes that may start inside a character, which is then left out."""
    start = 0
    while start < min(3, len(data)) and data[start] & 0xC0 == 0x80:
        start += 1
    return data[start:].decode("utf-8", "replace")


def torn_bytes(data: bytes) -> int:
    """How many bytes at the end start a character that is not there in full."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte & 0xC0 == 0x80:
            continue
        needed = 1 if byte < 0xC0 else 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
        return back if needed > back else 0
    return 0


def count_noun(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
