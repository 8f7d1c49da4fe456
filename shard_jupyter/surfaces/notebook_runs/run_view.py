"""What a person sees of a run: the notebook as text, growing from cell to cell."""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Callable, Iterator
from typing import Literal, Protocol, TextIO

from shard_jupyter.surfaces.render_static.visible_text import make_visible, make_visible_line

Part = Literal["heading", "prose", "source", "output", "error"]
Paint = Callable[[str, Part], str]
"""Puts colour around a line that is harmless already."""
_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
_CLEAR_LINE = "\r\x1b[2K"
_ITEM = re.compile(r"(\s*)(?:[-*+]|\d+[.)])\s+")
_NARROWEST, _WIDEST_PROSE = 20, 100


class RunView(Protocol):
    """Called from one thread at a time."""

    def show_prose(self, markdown: str) -> None: ...

    def show_source(self, source: str) -> None: ...

    def show_stream(self, text: str) -> None:
        """Show what a cell prints, as it comes; it need not end with a line end."""
        ...

    def show_text(self, text: str) -> None:
        """Show an output that will not change any more."""
        ...

    def show_state(self, line: str) -> None:
        """Show what holds for the moment; the next thing that is shown takes its place."""
        ...

    def show_error(self, line: str) -> None: ...

    def end_cell(self) -> None: ...

    def flush(self) -> None: ...


class TextView:
    """Plain text. `shows_state` False: what holds for the moment only is left out."""

    def __init__(self, out: TextIO, paint: Paint, *, shows_state: bool) -> None:
        self._out = out
        self._paint = paint
        self._shows_state = shows_state
        self._has_state = False
        self._open_line = False

    def show_prose(self, markdown: str) -> None:
        width = min(_width(self._out), _WIDEST_PROSE)
        self._write_lines(
            self._paint(make_visible_line(line), part)
            for part, line in read_markdown(markdown, width)
        )
        self._write("\n")

    def show_source(self, source: str) -> None:
        lines = make_visible(source).split("\n")
        bars = ("▸ ", *("  " for _ in lines))
        self._write_lines(
            self._paint(f"{bar}{line}".rstrip(), "source")
            for bar, line in zip(bars, lines, strict=False)
        )

    def show_stream(self, text: str) -> None:
        shown = make_visible(plain_text(text))
        self._write(shown)
        if shown:
            self._open_line = not shown.endswith("\n")

    def show_text(self, text: str) -> None:
        lines = make_visible(plain_text(text)).rstrip("\n").split("\n")
        self._write_lines(self._paint(line, "output") for line in lines)

    def show_state(self, line: str) -> None:
        if self._shows_state and line:
            self._end_line()
            width = max(10, _width(self._out) - 1)
            self._out.write(f"{_CLEAR_LINE}{make_visible_line(line)[:width]}")
            self._has_state = True
            self._out.flush()

    def show_error(self, line: str) -> None:
        self._write_lines([self._paint(make_visible_line(plain_text(line)), "error")])

    def end_cell(self) -> None:
        self._end_line()
        self._write("\n")

    def flush(self) -> None:
        self._end_line()
        self._write("")

    def _write_lines(self, lines: Iterator[str] | list[str]) -> None:
        self._end_line()
        self._write("".join(f"{line}\n" for line in lines))

    def _end_line(self) -> None:
        if self._open_line:
            self._write("\n")
            self._open_line = False

    def _write(self, text: str) -> None:
        if self._has_state:
            self._out.write(_CLEAR_LINE)
            self._has_state = False
        self._out.write(text)
        # Whoever reads a pipe or a log sees it as it comes, too.
        self._out.flush()


def plain_text(text: str) -> str:
    """Take colours and carriage returns out, as a terminal would have drawn it. Pure."""
    lines = _ESCAPES.sub("", text).replace("\r\n", "\n").split("\n")
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in lines)


def read_markdown(text: str, width: int) -> Iterator[tuple[Part, str]]:
    """Yield the lines of a Markdown cell for a terminal: lightly, headings without their #. Pure.

    Paragraphs and items of lists are filled anew, so that no line is longer than `width` but code
    and words that are.
    """
    paragraph: list[str] = []
    for part, line in _read_lines(text):
        if paragraph and (part != "prose" or not line or _ITEM.match(line)):
            yield from (("prose", filled) for filled in _fill(paragraph, width))
            paragraph = []
        if part == "prose" and line:
            paragraph.append(line)
        else:
            yield ("prose" if part == "code" else part), line
    yield from (("prose", filled) for filled in _fill(paragraph, width))


def _read_lines(text: str) -> Iterator[tuple[Part | Literal["code"], str]]:
    in_code = False
    for line in text.strip("\n").split("\n"):
        if line.lstrip().startswith(("```", "~~~")):
            in_code = not in_code
        elif in_code:
            yield "code", f"    {line}"
        elif found := re.match(r"#{1,6}\s+(.*)", line):
            yield "heading", found[1]
        else:
            yield "prose", re.sub(r"\*\*(.+?)\*\*", r"\1", line).rstrip()


def _fill(paragraph: list[str], width: int) -> list[str]:
    item = _ITEM.match(paragraph[0]) if paragraph else None
    return textwrap.wrap(
        " ".join(line.strip() for line in paragraph),
        max(width, _NARROWEST),
        initial_indent=item[1] if item else "",
        subsequent_indent=" " * len(item[0]) if item else "",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _width(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return 80
