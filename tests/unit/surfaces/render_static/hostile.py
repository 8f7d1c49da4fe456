"""Strings that try to be more than text, and checks that they are not."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser

import mistune
from mistune import HTMLRenderer
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

from shard_jupyter.surfaces.render_static.visible_text import make_visible
from shard_jupyter.types.plans import PlanStep
from shard_jupyter.types.render_descriptors import (
    ApprovalDescriptor,
    DiffDescriptor,
    Hunk,
    ImageDescriptor,
    KvDescriptor,
    KvPair,
    MarkdownDescriptor,
    PlanDescriptor,
    ProgressDescriptor,
    RenderDescriptor,
    StatusDescriptor,
    TableDescriptor,
    TextDescriptor,
    TreeDescriptor,
    TreeNode,
    UsageDescriptor,
)
from shard_jupyter.types.wire_model import Unknown

PIECES = (
    "<script>alert(1)</script>", "<img src=x onerror=y>", "<img src='http://evil.example/a.png'>",
    "<a href='`'>", "<!--", "-->", "</details>", "</code></pre>", "</summary>", "<svg/onload=x>",
    "<?php", "<![CDATA[", "<style>*{}</style>", "`<img src=x>`", "`", "``", "```", "````", "~~~",
    "\n", "\n\n", "\r\n", "\r", "\t", "    ", "> ", "- ", "1. ", "10) ", "* ", "+ ", "# ", "===",
    "---", "|", "\n| a | b |\n|---|---|\n| ", "[x](javascript:alert(1))", "[y](https://ok.example)",
    "![i](http://evil.example/b.png)", "[a]: http://evil.example/c.png\n", "![a]", "[a]", "[a][a]",
    "[z]: javascript:alert(1)\n", "<https://ok.example/d>", "<javascript:alert(1)>", "![", "[", "]",
    "(", ")", "\\", "!", "&lt;script&gt;", "&#60;img&#62;", "&#8238;", "&rlm;", "&shy", "&colon;",
    "$", "$$", "~~", "\\\\[", "\\\\]", "\\\\(", "\\\\)", "\\begin{x}", "\\end{x}", "```mermaid\n", "`a$$b`",
    "$x$", "$$\\href{javascript:alert(1)}{x}$$", "*", "_", "**", "~~", "a", "b c", "'", '"', "<", ">",
    "data:text/html;base64,PHNjcmlwdD4=", "\x1b[31m", "\x1b]8;;http://evil.example\x07", "\x07",
    "\x00", "\x9b1m", "\u202e", "\u2066", "\u200b", "\u200d", "\ufeff", "\u2028", "\u0085", "\ud800",
    "\U000e0041", "- [x] ", "```py\n", "\\`", "{{7*7}}", "@user", "http://evil.example/e",
)  # fmt: skip
WHOLE = ("".join(PIECES), "\n".join(PIECES), " ".join(reversed(PIECES)))

ELEMENTS = frozenset(
    [
        "p",
        "br",
        "h3",
        "h4",
        "h5",
        "h6",
        "ul",
        "ol",
        "li",
        "pre",
        "code",
        "em",
        "strong",
        "del",
        "a",
        "blockquote",
        "hr",
        "span",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "details",
        "summary",
    ]
)
ATTRIBUTES = {"a": {"href"}, "ol": {"start"}, "td": {"align"}, "th": {"align"}, "details": {"open"}}
_EMPTY = frozenset({"br", "hr", "img", "input"})
_ADDRESS = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)
# What an ordinary renderer makes of Markdown; all of it is what a sanitiser keeps.
RENDERED = ELEMENTS | {"h1", "h2", "s", "input"}
RENDERED_ATTRIBUTES = {
    **ATTRIBUTES,
    "code": {"class"},
    "td": {"style"},
    "th": {"style"},
    "li": {"class"},
    "input": {"class", "type", "disabled", "checked"},
}


class Checker(HTMLParser):
    """Collects what must not be in a page."""

    def __init__(self, elements: frozenset[str], attributes: dict[str, set[str]]) -> None:
        super().__init__(convert_charrefs=True)
        self.elements = elements
        self.attributes = attributes
        self.wrong: list[str] = []
        self.open: list[str] = []
        self.text = ""
        self.values = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.elements:
            self.wrong.append(f"<{tag}>")
        for name, value in attrs:
            self.values += value or ""
            if name not in self.attributes.get(tag, set()):
                self.wrong.append(f"<{tag} {name}={value!r}>")
            if name == "href" and not _ADDRESS.match(value or ""):
                self.wrong.append(f"link to {value!r}")
        if tag not in _EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in _EMPTY:
            return
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"stray </{tag}>")

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        self.wrong.append(f"<!--{data}-->")

    def handle_decl(self, decl: str) -> None:
        self.wrong.append(f"<!{decl}>")

    def handle_pi(self, data: str) -> None:
        self.wrong.append(f"<?{data}>")

    def unknown_decl(self, data: str) -> None:
        self.wrong.append(f"<![{data}]>")


def assert_visible(text: str) -> None:
    """No character in it is obeyed by a terminal or hidden from a reader."""
    assert make_visible(text) == text
    text.encode("utf-8")


def check_html(page: str) -> str:
    """Assert that a page of ours is harmless and well-formed; return its text."""
    checker = Checker(ELEMENTS, ATTRIBUTES)
    checker.feed(page)
    checker.close()
    assert checker.wrong == []
    assert checker.open == []
    assert_visible(page)
    assert_visible(checker.text + checker.values)
    assert "\n\n" not in page, "Markdown around it would take over at an empty line"
    return checker.text


class _NotebookRenderer(IPythonRenderer):
    """What nbconvert makes of Markdown in a notebook, without anchors and colours."""

    def block_code(self, code: str, info: str | None = None) -> str:
        return HTMLRenderer.block_code(self, code, info)


_PLUGINS = ["table", "strikethrough", "task_lists", "url"]
_RENDERERS: tuple[Callable[[str], object], ...] = (
    mistune.create_markdown(escape=False),
    mistune.create_markdown(escape=False, plugins=_PLUGINS),
    MarkdownWithMath(_NotebookRenderer(escape=False, exclude_anchor_links=True)),
)


def check_markdown(source: str) -> str:
    """Assert that ordinary renderers, which let HTML pass, make nothing harmful of it."""
    assert_visible(source)
    text = ""
    for render in _RENDERERS:
        checker = Checker(RENDERED, RENDERED_ATTRIBUTES)
        checker.feed(str(render(source)))
        checker.close()
        assert checker.wrong == []
        text = checker.text
    return text


def every_kind(evil: str) -> Iterator[RenderDescriptor]:
    """Yield descriptors of every kind, with `evil` wherever there is text."""
    yield TextDescriptor(text=evil, language=evil)
    yield MarkdownDescriptor(text=evil)
    yield KvDescriptor(pairs=(KvPair(k=evil, v=evil), KvPair(k="k", v=f"{evil}\n{evil}")))
    yield DiffDescriptor(
        path=evil,
        hunks=(Hunk(old_start=1, old_lines=1, new_start=1, new_lines=1, lines=(f"+{evil}", evil)),),
        added=1,
        cut_lines=2,
    )
    child = TreeNode(label=evil, detail=evil)
    yield TreeDescriptor(root=TreeNode(label=evil, detail=evil, children=(child, child)))
    yield TableDescriptor(columns=(evil, "b"), rows=((evil,), (evil, evil, evil)), total_rows=90)
    yield PlanDescriptor(title=evil, steps=(PlanStep(text=evil, done=True), PlanStep(text=evil)))
    yield ProgressDescriptor(label=evil, current=1, total=2)
    yield StatusDescriptor(label=evil, tone="warn")
    yield ImageDescriptor(media_type=evil, sha256=evil, size_bytes=1, alt=evil)
    yield ApprovalDescriptor(question=evil, state="allowed", by="you", rule=evil)
    yield ApprovalDescriptor(question=evil, state="denied", by=evil, note=evil)
    yield ApprovalDescriptor(question=evil, state="expired", note=evil)
    yield UsageDescriptor(input_tokens=1, cost_usd=0.2)
    yield Unknown(tag=evil, raw={"kind": evil})
    yield Unknown(tag="chart", raw={"kind": "chart", "fallback": evil})
