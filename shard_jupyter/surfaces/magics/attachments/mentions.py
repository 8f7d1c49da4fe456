"""Finds what a prompt names with `@`: variables and files. Pure.

A mention stands at the start of a word, and outside of code: what is in backticks or in a fence is
meant as it is written, and so are the decorator of a function below it and `@scope/package`.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from shard_jupyter.errors import UsageError

_BEFORE = r"(?:(?<=[\s(\[{<\"'“‘«„,;|*])|\A)"
_MENTION = re.compile(
    _BEFORE + r"@(?:file:(?P<quote>[\"'])|file:(?P<path>[^\s\"']\S*)|(?P<name>[^\W\d]\w*+)(?!/\w))"
)
_LINE = re.compile(r"[^\n]*\n?")
_FENCE = re.compile(r"[ ]{0,3}(?P<marks>`{3,}|~{3,})(?P<info>[^\n]*)")
_TICKS = re.compile(r"`+")
_BLANK_LINE = re.compile(r"\n[ \t\r]*\n")
_DECORATOR = re.compile(r"[ \t]*@[\w.]+[ \t]*(?P<call>\()?")
_LINE_END = re.compile(r"[ \t]*(?:#[^\n]*)?(?:\r?\n|\Z)")
_BRACKETS = re.compile(r"[()]")
_DEFINITION = re.compile(r"[ \t]*(?:async[ \t]+def|def|class)[ \t]")
_PATH_END = ".,;:!?)]}>\"'”’»*|"
_PAIRS = {")": "(", "]": "[", "}": "{"}
_MAX_CALL_CHARS = 500
_MAX_DECORATORS = 50


@dataclass(frozen=True)
class Mention:
    """`value` is the name of a variable, or a path as it was given."""

    kind: Literal["variable", "file"]
    value: str


def find_mentions(text: str) -> tuple[Mention, ...]:
    """Return each mention once, in the order of first use.

    Raises:
        UsageError: a quoted path has no end.
    """
    found: dict[Mention, None] = {}
    for start, end in _prose(text):
        position = start
        while (match := _MENTION.search(text, position, end)) is not None:
            position = match.end()
            mention, position = _read_mention(text, match, end)
            if mention is not None:
                found[mention] = None
    return tuple(found)


def _read_mention(text: str, match: re.Match[str], end: int) -> tuple[Mention | None, int]:
    if match["quote"]:
        return _read_quoted(text, match)
    if match["path"]:
        path = _strip_punctuation(match["path"])
        # Nothing but punctuation: the variable `file`, and the text goes on.
        return Mention("file", path) if path else Mention("variable", "file"), match.end()
    if end_of_decorator := _decorated_until(text, match.start()):
        return None, min(end_of_decorator, end)
    return Mention("variable", match["name"]), match.end()


def _strip_punctuation(path: str) -> str:
    """Take off what ends a sentence, and brackets that were opened before the path."""
    while path and path[-1] in _PATH_END:
        opening = _PAIRS.get(path[-1])
        if opening and path.count(opening) >= path.count(path[-1]):
            break
        path = path[:-1]
    return path


def _read_quoted(text: str, match: re.Match[str]) -> tuple[Mention, int]:
    end_of_line = text.find("\n", match.end())
    close = text.find(match["quote"], match.end(), None if end_of_line < 0 else end_of_line)
    if close < 0:
        raise UsageError(
            f"The quote after @file: in line {text.count(chr(10), 0, match.start()) + 1} of the "
            "prompt is not closed.",
            next_step='Write @file:"my file.csv".',
        )
    return Mention("file", text[match.end() : close]), close + 1


def _prose(text: str) -> Iterator[tuple[int, int]]:
    """Yield the parts of `text` that are neither in a fence nor in backticks."""
    start = position = 0
    fence = ""
    while position < len(text):
        line = _LINE.match(text, position)
        assert line is not None  # matches at every place
        position = line.end()
        marks = _FENCE.match(line[0])
        if fence:
            if _closes(fence, marks):
                fence, start = "", position
        elif marks is not None and not (marks["marks"][0] == "`" and "`" in marks["info"]):
            yield from _outside_ticks(text, start, line.start())
            fence = marks["marks"]
    if not fence:
        yield from _outside_ticks(text, start, len(text))


def _closes(fence: str, marks: re.Match[str] | None) -> bool:
    return marks is not None and marks["marks"].startswith(fence) and not marks["info"].strip()


def _outside_ticks(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield what is in no inline code. A run of backticks without an equal one is plain text."""
    position = start
    for opening, closing in _tick_pairs(text, start, end):
        yield position, opening
        position = closing
    yield position, end


def _tick_pairs(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Inline code from its first backtick to after its last; no code goes over a blank line."""
    for first, last in _paragraphs(text, start, end):
        runs = list(_TICKS.finditer(text, first, last))
        later: defaultdict[int, deque[int]] = defaultdict(deque)
        for index, run in enumerate(runs):
            later[len(run[0])].append(index)
        index = 0
        while index < len(runs):
            partners = later[len(runs[index][0])]
            while partners and partners[0] <= index:
                partners.popleft()
            if partners:
                yield runs[index].start(), runs[partners[0]].end()
                index = partners[0]
            index += 1


def _paragraphs(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    position = start
    for gap in _BLANK_LINE.finditer(text, start, end):
        yield position, gap.start()
        position = gap.end()
    yield position, end


def _decorated_until(text: str, start: int) -> int:
    """Where the decorators that begin at `start` end, if a definition follows them; else 0."""
    position = text.rfind("\n", 0, start) + 1
    if text[position:start].strip():
        return 0
    for _ in range(_MAX_DECORATORS):
        found = _DECORATOR.match(text, position)
        if found is None:
            break
        end = _after_call(text, found.end()) if found["call"] else found.end()
        line_end = _LINE_END.match(text, end) if end else None
        if line_end is None:
            return 0
        position = line_end.end()
    return position if _DEFINITION.match(text, position) else 0


def _after_call(text: str, position: int) -> int:
    """The place after the parenthesis that closes the one before `position`; 0 if it is far."""
    depth = 1
    for bracket in _BRACKETS.finditer(text, position, position + _MAX_CALL_CHARS):
        depth += 1 if bracket[0] == "(" else -1
        if depth == 0:
            return bracket.end()
    return 0
