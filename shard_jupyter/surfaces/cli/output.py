"""Write lists and JSON to standard output."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence

from shard_jupyter.surfaces.render_static.visible_text import make_visible_line

_GAP = "  "
_LEAST_ROOM = 24


def write_lines(lines: Iterable[str]) -> None:
    """Write lines whose parts are harmless already."""
    for line in lines:
        sys.stdout.write(f"{line}\n")


def write_json(value: object) -> None:
    """Write one JSON document, in ASCII: a path may hold bytes that no encoding can write."""
    sys.stdout.write(f"{json.dumps(value, indent=2)}\n")


def find_width() -> int | None:
    """Return the columns of the terminal on stdout; None: it is none."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def align_columns(rows: Iterable[Sequence[str]], width: int | None = None) -> list[str]:
    """Make table rows of texts, two spaces between columns; the last column is not padded.

    With `width` the last column is wrapped below itself, where there is room for it.
    """
    table = [[make_visible_line(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    start = sum(widths[:-1]) + len(_GAP) * (len(widths) - 1)
    room = None if width is None or width - start < _LEAST_ROOM else width - start
    return [line for row in table for line in _write_row(row, widths, room)]


def _write_row(row: Sequence[str], widths: Sequence[int], room: int | None) -> Iterator[str]:
    *cells, last = row
    before = "".join(
        cell.ljust(width) + _GAP for cell, width in zip(cells, widths[:-1], strict=True)
    )
    parts = [last] if room is None else textwrap.wrap(last, room, break_on_hyphens=False)
    yield f"{before}{parts[0] if parts else ''}".rstrip()
    yield from (f"{' ' * len(before)}{part}" for part in parts[1:])
