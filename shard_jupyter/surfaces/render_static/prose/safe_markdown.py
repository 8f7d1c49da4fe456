"""Make a model's Markdown harmless whoever renders it, and keep it Markdown. Pure.

Renderers differ, so nothing here relies on knowing what one would take for code, a link or HTML:

- Fenced blocks are written anew, at the left edge, after a blank line and with a fence longer than
  any in the block. Every other run that could pass for a fence is escaped, so that no renderer sees
  a fence which is not ours.
- A code span is kept only where it opens and closes on one line, and holds nothing that could end
  what began outside of it; every other backtick is escaped.
- Math is kept only where it has no code in it; every other dollar sign is escaped.
- Outside of code no `<` that could start a tag, and no `[` but that of a web or mail link, is left.
  Images and other links become their text and their address.
- Entities that stand for what nobody sees become the same marks as the characters themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from shard_jupyter.surfaces.render_static.prose.inline_markdown import mend_line, mend_math
from shard_jupyter.surfaces.render_static.visible_text import make_visible

_FENCE = re.compile(
    r"(?P<prefix>(?:[ \t]|>|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t]))*)"
    r"(?P<run>`{3,}|~{3,})(?P<info>[^`]*)\Z"
)
_NUMBER = re.compile(r"\d+[.)]")
_INFO = re.compile(r"[A-Za-z0-9_+#.-]{1,30}")
# A row that makes the lines around it a table, in which a bar ends a code span.
_TABLE_RULE = re.compile(r"(?=[^|-]*[|-])[ \t>*+0-9.)|:-]+\Z")
_TICKS = re.compile(r"`+")
_MATH_BLOCK = re.compile(r"\s*\$\$(?P<inside>(?:\\[^$`]|[^$`\\])+)\$\$\s*\Z")
# Languages for which some renderers run what is in the block.
_ACTIVE = frozenset({"mermaid", "geojson", "topojson", "stl", "math"})


@dataclass(frozen=True)
class ProseBlock:
    """A run of lines between blank ones, or a whole fenced block (`info` is then not None)."""

    text: str
    info: str | None = None


def make_safe_markdown(text: str) -> str:
    return "\n\n".join(map(write_block, split_blocks(text)))


@lru_cache(maxsize=16)
def split_blocks(text: str) -> tuple[ProseBlock, ...]:
    """Cut prose into what can be rendered by itself."""
    return tuple(_blocks_of(text))


def _blocks_of(text: str) -> Iterator[ProseBlock]:
    lines = make_visible(text.replace("\r\n", "\n").strip("\n")).split("\n")
    paragraph: list[str] = []
    shift = at = 0
    while at < len(lines):
        line, left = _dedent(lines[at], shift)
        if left != shift and paragraph:  # what follows belongs to the list around it
            yield ProseBlock("\n".join(paragraph))
            paragraph = []
        shift = left
        found = _FENCE.match(line)
        if found is None and line.strip():
            paragraph.append(line)
            at += 1
            continue
        if paragraph:
            yield ProseBlock("\n".join(paragraph))
            paragraph = []
        at += 1
        if found is not None:
            if number := _NUMBER.search(found["prefix"]):
                yield ProseBlock(number[0])
            code, at = _read_fence(lines, at, found, shift)
            yield code
            shift += _width_of(found["prefix"])
    if paragraph:
        yield ProseBlock("\n".join(paragraph))


def _dedent(line: str, shift: int) -> tuple[str, int]:
    """Move up what followed a fenced block inside a list, since the block was moved up too."""
    if not shift or not line.strip():
        return line, shift
    indent = len(line) - len(line.lstrip(" "))
    return (line[shift:], shift) if indent >= shift else (line, 0)


def _width_of(prefix: str) -> int:
    return len(prefix.rpartition(">")[2].expandtabs(4))


def _read_fence(
    lines: list[str], at: int, found: re.Match[str], shift: int
) -> tuple[ProseBlock, int]:
    """Take the lines of a block up to its end, without what only says where it stands."""
    run, quotes = found["run"], found["prefix"].count(">")
    width = _width_of(found["prefix"]) + (0 if quotes else shift)
    end = re.compile(rf"[ \t]*{re.escape(run[0])}{{{len(run)},}}[ \t]*\Z")
    code: list[str] = []
    while at < len(lines):
        line = lines[at]
        for _ in range(quotes):
            before, mark, after = line.partition(">")
            if not mark or before.strip():
                return _code_block(code, found), at
            line = after.removeprefix(" ")
        at += 1
        if end.match(line):
            break
        code.append(_strip_indent(line, width))
    return _code_block(code, found), at


def _strip_indent(line: str, width: int) -> str:
    indent = len(line) - len(line.lstrip(" "))
    return line[min(indent, width) :]


def _code_block(code: list[str], found: re.Match[str]) -> ProseBlock:
    return ProseBlock("\n".join(code), found["info"].strip())


@lru_cache(maxsize=4096)
def write_block(block: ProseBlock) -> str:
    if block.info is not None:
        return fence(block.text, block.info)
    math = _MATH_BLOCK.match(block.text)
    if math and (mended := mend_math(math["inside"])) is not None:
        return f"$${mended}$$"
    lines = block.text.split("\n")
    if lines[0].rstrip() == "---":  # pandoc would take the lines below it for metadata
        lines[0] = "***"
    in_table = any(map(_TABLE_RULE.match, lines))
    return "\n".join(mend_line(line, in_table) for line in lines)


def fence(text: str, info: str = "") -> str:
    """Write a fenced block that nothing in `text` can end. `text` must be visible already."""
    longest = max(map(len, _TICKS.findall(text)), default=0)
    run = "`" * max(3, longest + 1)
    info = known[0] if (known := _INFO.match(info)) and known[0] not in _ACTIVE else ""
    return f"{run}{info}\n{text}\n{run}" if text else f"{run}{info}\n{run}"
