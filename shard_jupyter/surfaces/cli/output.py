"""Write lists and JSON to standard output."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence

from shard_jupyter.surfaces.render_static.visible_text import make_visible_line


def write_lines(lines: Iterable[str]) -> None:
    """Write lines whose parts are harmless already."""
    for line in lines:
        sys.stdout.write(f"{line}\n")


def write_json(value: object) -> None:
    """Write one JSON document, in ASCII: a path may hold bytes that no encoding can write."""
    sys.stdout.write(f"{json.dumps(value, indent=2)}\n")


def align_columns(rows: Iterable[Sequence[str]]) -> list[str]:
    """Make table rows of texts, two spaces between columns; the last column is not padded."""
    table = [[make_visible_line(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in table
    ]
