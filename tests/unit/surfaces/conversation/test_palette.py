"""Colours and numbers."""

from __future__ import annotations

import io

import pytest

from shard_jupyter.surfaces.conversation.palette import (
    Palette,
    can_rewrite,
    choose_palette,
)
from shard_jupyter.surfaces.conversation.soft_encoding import soften_encoding
from shard_jupyter.surfaces.render_static.words.numbers import show_cost, show_count, show_seconds
from tests.unit.surfaces.conversation.streams import FakeTerminal

pytestmark = pytest.mark.proves("B12")


@pytest.mark.parametrize(
    ("environ", "on"),
    [
        ({}, True),
        ({"NO_COLOR": "1"}, False),
        ({"NO_COLOR": ""}, True),
        ({"TERM": "dumb"}, False),
        ({"TERM": "xterm-256color"}, True),
    ],
)
def test_colours_need_a_terminal_that_wants_them(environ: dict[str, str], on: bool) -> None:
    assert choose_palette(FakeTerminal(), environ).on == on
    assert not choose_palette(io.StringIO(), environ).on


def test_a_palette_that_is_off_changes_nothing() -> None:
    assert Palette(on=False).paint("x", "red") == "x"
    assert Palette(on=True).paint("x", "bold", "red") == "\x1b[1;31mx\x1b[0m"
    assert Palette(on=True).paint("", "red") == ""


@pytest.mark.parametrize(("term", "can"), [("xterm", True), ("dumb", False)])
def test_a_line_is_rewritten_only_where_that_works(term: str, can: bool) -> None:
    assert can_rewrite(FakeTerminal(), {"TERM": term}) == can
    assert not can_rewrite(io.StringIO(), {"TERM": term})


def test_a_stream_without_the_characters_gets_plain_ones_or_escapes() -> None:
    data = io.BytesIO()
    stream = io.TextIOWrapper(data, encoding="ascii")
    soften_encoding(stream, io.StringIO())
    stream.write("✓ ü · … 好😀")
    stream.flush()
    assert data.getvalue() == rb"+ \xfc - ... \u597d\U0001f600"


@pytest.mark.parametrize(
    ("number", "shown"),
    [(0, "0"), (950, "950"), (999, "999"), (1000, "1.0k"), (48_230, "48.2k"), (999_949, "999.9k"),
     (999_950, "1.0M"), (1_200_000, "1.2M")],
)  # fmt: skip
def test_counts_are_short(number: int, shown: str) -> None:
    assert show_count(number) == shown


def test_cost_and_time_are_short_and_unknown_is_not_zero() -> None:
    assert [show_cost(cost) for cost in (None, 0.0, 0.001, 0.213, 12.0)] == [
        "cost unknown", "$0.00", "<$0.01", "$0.21", "$12.00",
    ]  # fmt: skip
    assert [show_seconds(time) for time in (0.04, 2.34, 59.94, 102)] == [
        "<0.1 s", "2.3 s", "59.9 s", "1 min 42 s",
    ]  # fmt: skip
