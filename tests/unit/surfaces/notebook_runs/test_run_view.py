"""What a person sees of a run: final things once, states for the moment, nothing harmful."""

from __future__ import annotations

import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shard_jupyter.surfaces.notebook_runs.cell_screen import (
    CellScreen,
    find_new_lines,
    find_state,
    tell_error,
)
from shard_jupyter.surfaces.notebook_runs.run_view import Part, TextView, plain_text, read_markdown

pytestmark = pytest.mark.proves("D12")


def paint(line: str, part: Part) -> str:
    return line if part == "output" else f"[{part}]{line}"


@pytest.fixture
def out() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def screen(out: io.StringIO) -> CellScreen:
    return CellScreen(TextView(out, paint, shows_state=False))


def show(screen: CellScreen, text: str, kind: str = "display_data", of: str | None = "d") -> None:
    content: dict[str, Any] = {"data": {"text/plain": text}, "transient": {"display_id": of}}
    screen.take(kind, content)


def test_a_display_that_is_replaced_is_shown_once_as_it_is_in_the_end(
    screen: CellScreen, out: io.StringIO
) -> None:
    show(screen, "● Working")
    show(screen, "● Working\n  reads", "update_display_data")
    assert out.getvalue() == ""
    show(screen, "✓ Done\n", "update_display_data")
    screen.end()
    assert out.getvalue() == "✓ Done\n\n"


def test_a_question_is_shown_and_then_only_what_came_after_it(
    screen: CellScreen, out: io.StringIO
) -> None:
    show(screen, "head\n\nbash asks: ls\n")
    screen.show_open()
    assert out.getvalue() == "head\n\nbash asks: ls\n"
    show(screen, "head\n\nbash asks: rm\n", "update_display_data")
    screen.show_open()
    assert out.getvalue().endswith("ls\nbash asks: rm\n")
    show(screen, "end\n", "update_display_data")
    screen.end()
    assert out.getvalue().endswith("rm\nend\n\n")


def test_what_was_shown_for_a_question_and_stayed_is_not_shown_again(
    screen: CellScreen, out: io.StringIO
) -> None:
    show(screen, "a\nb\n")
    screen.show_open()
    show(screen, "a\nb\nc\n", "update_display_data")
    screen.end()
    assert out.getvalue() == "a\nb\nc\n\n"


def test_plain_displays_and_results_are_shown_at_once(screen: CellScreen, out: io.StringIO) -> None:
    show(screen, "42", "execute_result", None)
    screen.take("display_data", {"data": {"image/png": "…"}})
    assert out.getvalue() == "42\n"


def test_a_display_of_another_cell_is_not_shown_again(screen: CellScreen, out: io.StringIO) -> None:
    show(screen, "late", "update_display_data", "of another")
    screen.end()
    assert out.getvalue() == "\n"


def test_the_state_line_is_taken_away_before_anything_else(out: io.StringIO) -> None:
    view = TextView(out, paint, shows_state=True)
    view.show_state("⋯ bash\x1b[2J")
    view.show_stream("done\n")
    assert out.getvalue() == "\r\x1b[2K⋯ bash⟨U+001B⟩[2J\r\x1b[2Kdone\n"


def test_no_state_is_written_while_somebody_types(out: io.StringIO) -> None:
    screen = CellScreen(TextView(out, paint, shows_state=True))
    screen.is_asking = True
    show(screen, "● Working")
    assert out.getvalue() == ""


def test_a_pipe_gets_what_a_cell_prints_as_it_comes() -> None:
    written = io.BytesIO()
    pipe = io.TextIOWrapper(io.BufferedWriter(written), encoding="utf-8")  # type: ignore[arg-type]
    view = TextView(pipe, paint, shows_state=False)
    view.show_source("go()")
    assert b"go()" in written.getvalue()
    view.show_stream("half a line")
    assert written.getvalue().endswith(b"half a line")


def test_an_open_line_is_ended_before_the_next_output(out: io.StringIO) -> None:
    view = TextView(out, paint, shows_state=False)
    view.show_stream("no line end")
    view.show_text("result")
    view.show_stream("a")
    view.end_cell()
    assert out.getvalue() == "no line end\nresult\na\n\n"


@pytest.mark.parametrize(
    "hostile", ["\x1b]0;title\x07", "\x1b[2J", "a\x08b", "\u202e", "\x9b31m", "\r\x1b[1A"]
)
def test_nothing_a_terminal_obeys_comes_through(hostile: str, out: io.StringIO) -> None:
    view = TextView(out, paint, shows_state=False)
    for write in (
        view.show_stream, view.show_text, view.show_prose, view.show_source, view.show_error
    ):  # fmt: skip
        write(f"x{hostile}y")
    assert not set(out.getvalue()) & set("\x1b\x07\x08\r\u202e\x9b")


def test_source_and_prose_are_told_apart(out: io.StringIO) -> None:
    view = TextView(out, paint, shows_state=False)
    view.show_prose("# Title\n\nSome **bold** words\n\n```sh\nls # no heading\n```\n")
    view.show_source("%%shard\nDo it.")
    assert out.getvalue() == (
        "[heading]Title\n[prose]\n[prose]Some bold words\n[prose]\n[prose]    ls # no heading\n\n"
        "[source]▸ %%shard\n[source]  Do it.\n"
    )


def test_a_hash_inside_a_fence_is_no_heading() -> None:
    assert list(read_markdown("~~~\n# x\n~~~", 80)) == [("prose", "    # x")]


def test_paragraphs_and_items_are_filled_to_the_width_and_code_is_not() -> None:
    text = "one two\nthree **four** five\n- six seven eight nine\n  ten\n- x\n\n```\na  b  c  d  e  f  g  h\n```"
    assert [line for _, line in read_markdown(text, 20)] == [
        "one two three four",
        "five",
        "- six seven eight",
        "  nine ten",
        "- x",
        "",
        "    a  b  c  d  e  f  g  h",
    ]


@given(st.text("a b#-`1.*\n", max_size=60), st.integers(20, 90))
def test_filling_loses_no_word_and_fits(text: str, width: int) -> None:
    lines = [line for part, line in read_markdown(text, width) if part == "prose"]
    code_free = [line for line in lines if not line.startswith("    ")]
    assert all(len(line) <= width or " " not in line.strip(" -*1.") for line in code_free)
    if not set("#`*") & set(text):
        assert " ".join(lines).split() == text.split()


def test_colours_and_carriage_returns_are_drawn() -> None:
    assert plain_text("\x1b[31mred\x1b[0m 10 %\r 90 %\r100 %\r\nnext\r\n") == "100 %\nnext\n"


def test_new_lines_begin_where_texts_differ() -> None:
    assert find_new_lines("", "a\n") == ["a"]
    assert find_new_lines("a\nb", "a\nc\nd\n") == ["c", "d"]
    assert find_new_lines("a\nb", "a\nb\n") == []


def test_the_state_is_the_last_line_that_says_something() -> None:
    assert find_state("head\n\n  ⋯ Run  ls  \n\n") == "⋯ Run  ls"
    assert find_state("\n") == ""


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ({"ename": "ValueError", "evalue": "no\nsecond"}, "ValueError: no"),
        ({"ename": "KeyboardInterrupt", "evalue": ""}, "KeyboardInterrupt"),
        ({}, ""),
    ],
)
def test_an_error_is_one_line(content: dict[str, str], line: str) -> None:
    assert tell_error(content) == line
