"""A model's Markdown as harmless HTML: no raw HTML, no image, only web and mail links. Pure.

What the parser gets was made harmless before (`safe_markdown`); the renderer does not rely on it.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import mistune

from shard_jupyter.surfaces.render_static.prose.safe_markdown import split_blocks, write_block
from shard_jupyter.surfaces.render_static.visible_text import make_visible

# What a parser may be given at once: some texts take it far longer than their length tells.
MAX_CHARS = 20_000
_HEADING_SHIFT = 2
_MAX_HEADING = 6
_BLANK_LINE = re.compile(r"\n(?=[^\S\n]*(?:\n|\Z))")
_CONTINUES = re.compile(r"[ \t]|[-*+][ \t]|\d{1,9}[.)][ \t]")
_MATH = r"(?P<math_sign>\${1,2})[^$]+(?P=math_sign)"
_WEB_OR_MAIL = ("http://", "https://", "mailto:")


class _ProseRenderer(mistune.HTMLRenderer):
    """Only elements that every sanitiser keeps, and no attribute but `href`, `start`, `align`."""

    def __init__(self) -> None:
        super().__init__(escape=True)

    def text(self, text: str) -> str:
        shown = html.escape(make_visible(html.unescape(text)), quote=False)
        return shown.replace("$", "<span>$</span>")  # no math: that is a token of its own

    def image(self, text: str, url: str, title: str | None = None) -> str:
        del title
        return f"{text} ({html.escape(url)})"

    def link(self, text: str, url: str, title: str | None = None) -> str:
        del title
        if url.lower().startswith(_WEB_OR_MAIL):
            return f'<a href="{html.escape(url)}">{text}</a>'
        return f"{text} ({html.escape(url)})"

    def heading(self, text: str, level: int, **attrs: Any) -> str:  # noqa: ANN401 - as inherited
        """An answer is a part of a page, not what the contents of the page begin with."""
        del attrs
        tag = f"h{min(level + _HEADING_SHIFT, _MAX_HEADING)}"
        return f"<{tag}>{text}</{tag}>\n"

    def block_code(self, code: str, info: str | None = None) -> str:
        del info
        return preformatted(code.removesuffix("\n"))

    def block_error(self, text: str) -> str:
        return preformatted(text)


def _task_list_item(renderer: _ProseRenderer, text: str, checked: bool = False) -> str:
    del renderer
    box = "☑ " if checked else "☐ "
    return f"<li>{text.replace('<p>', f'<p>{box}', 1) if text.startswith('<p>') else box + text}</li>\n"


def _table_cell(
    renderer: _ProseRenderer, text: str, align: str | None = None, head: bool = False
) -> str:
    del renderer
    tag = "th" if head else "td"
    how = f' align="{align}"' if align else ""
    return f"<{tag}{how}>{text}</{tag}>\n"


def _parse_math(inline: mistune.InlineParser, found: re.Match[str], state: Any) -> int:  # noqa: ANN401 - the parser's own
    del inline
    state.append_token({"type": "math", "raw": found[0]})
    return found.end()


def _math(renderer: _ProseRenderer, text: str) -> str:
    """Leave math for the notebook to typeset."""
    del renderer
    return html.escape(text, quote=False)


def preformatted(text: str) -> str:
    """Write text whose lines are kept. `text` must be visible already."""
    return f"<pre><code>{without_blank_lines(html.escape(text, quote=False))}</code></pre>\n"


def without_blank_lines(inside: str) -> str:
    """Write line ends before empty lines as entities.

    Markdown ends its HTML blocks at an empty line, and would take the rest for Markdown: it must
    not see one when a converter puts this HTML into a Markdown file.
    """
    return _BLANK_LINE.sub("&#10;", inside)


@lru_cache(maxsize=1)
def _parser() -> mistune.Markdown:
    renderer = _ProseRenderer()
    parser = mistune.create_markdown(
        renderer=renderer, plugins=["strikethrough", "table", "task_lists"]
    )
    renderer.register("task_list_item", _task_list_item)
    renderer.register("table_cell", _table_cell)
    renderer.register("math", _math)
    parser.inline.register("math", _MATH, _parse_math, before="emphasis")
    return parser


def render_prose(text: str) -> str:
    """Render Markdown; each element that stands by itself starts on its own line."""
    return "".join(map(_render_section, _sections(text)))


def _sections(text: str) -> Iterator[str]:
    """Yield what can be parsed by itself: while an answer grows, only the last one changes."""
    section: list[str] = []
    for block in split_blocks(text):
        written = write_block(block)
        if section and not _CONTINUES.match(written):
            yield "\n\n".join(section)
            section = []
        section.append(written)
    if section:
        yield "\n\n".join(section)


@lru_cache(maxsize=4096)
def _render_section(source: str) -> str:
    if len(source) > MAX_CHARS and not source.startswith("```"):
        return preformatted(source)
    return str(_parser()(source))
