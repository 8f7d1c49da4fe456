"""Columns."""

from __future__ import annotations

import pytest

from shard_jupyter.surfaces.cli.output import align_columns

pytestmark = pytest.mark.proves("B12")


def test_columns_line_up_and_no_cell_breaks_its_line() -> None:
    rows = align_columns([("key", "value"), ("a", "x\ny"), ("long name", "\x1b[0m")])
    assert rows == ["key        value", "a          x⏎y", "long name  ⟨U+001B⟩[0m"]


def test_the_last_column_is_wrapped_below_itself_where_there_is_room() -> None:
    rows = [("name", "state"), ("a", "one two three four five six seven"), ("b", "")]
    assert align_columns(rows, 32) == [
        "name  state",
        "a     one two three four five",
        "      six seven",
        "b",
    ]
    assert align_columns(rows, 20) == align_columns(rows)
