"""Lines that fit a width whatever they hold. Pure.

A terminal would go on in the next row by itself, where nothing tells what is shown from what is
said. So lines are wrapped here, where whoever shows them can mark each row.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator

GOES_ON = "  "
"""Stands before what goes on from the row above."""
SMALLEST = 24
MOST_COLUMNS = 80
"""Where the width is not known: a client that does not wrap would hide what is further right."""
_PARTS = re.compile(r"⟨U\+[0-9A-F]+⟩|.", re.DOTALL)


def wrap_all(lines: Iterable[str], width: int) -> Iterator[str]:
    """Cut each line into rows of at most `width` columns; nothing is dropped."""
    for line in lines:
        yield from wrap_line(line, width)


def wrap_line(line: str, width: int) -> list[str]:
    """Cut one line; a row ends behind a blank where there is one in its second half.

    A mark for a character is never cut. Every row but the first starts with `GOES_ON`.
    """
    width = max(width, SMALLEST)
    if len(line) * 2 <= width:
        return [line]
    rows = [""]
    columns = blank = 0
    for part in _PARTS.findall(line):
        wide = columns_of(part)
        if columns + wide > width:
            cut = blank if blank > width // 2 else len(rows[-1])
            rest = rows[-1][cut:]
            rows[-1] = rows[-1][:cut]
            rows.append(GOES_ON + rest)
            columns, blank = columns_of(rows[-1]), 0
        rows[-1] += part
        columns += wide
        if part == " ":
            blank = len(rows[-1])
    return rows


def columns_of(text: str) -> int:
    """How many columns a text takes at most: accents count, so that a row is never too long."""
    return sum(2 if unicodedata.east_asian_width(char) in "WFA" else 1 for char in text)
