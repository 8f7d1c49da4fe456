"""What a line is: what stands between two LF bytes, and nothing else.

`str.splitlines` also breaks at form feeds, U+0085, U+2028 and more, so that two tools using
different splitters disagree about line 12. Read, grep, edit and diff all use these three.
"""

from __future__ import annotations


def split_lines(text: str) -> list[str]:
    """Lines without their LF. A final LF ends the last line and starts no empty one."""
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


def split_keeping_ends(text: str) -> list[str]:
    """Lines with their LF; joined again they are the text."""
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def line_number_at(text: str, offset: int) -> int:
    """1-based number of the line in which `offset` lies."""
    return text.count("\n", 0, offset) + 1
