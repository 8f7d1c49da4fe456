"""Columns."""

from __future__ import annotations

import pytest

from shard_jupyter.surfaces.cli.output import align_columns

pytestmark = pytest.mark.proves("B12")


def test_columns_line_up_and_no_cell_breaks_its_line() -> None:
    rows = align_columns([("key", "value"), ("a", "x\ny"), ("long name", "\x1b[0m")])
    assert rows == ["key        value", "a          x⏎y", "long name  ⟨U+001B⟩[0m"]
