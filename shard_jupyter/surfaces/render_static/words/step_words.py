"""What a row says of a tool call: verb, target and, in a few words, what came of it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from shard_jupyter.surfaces.render_static.words.descriptor_words import count_noun
from shard_jupyter.types.content import ImageBlock, ResultPart, TextBlock
from shard_jupyter.types.events import ToolResultEvent
from shard_jupyter.types.render_descriptors import (
    DiffDescriptor,
    RenderDescriptor,
    StatusDescriptor,
    TextDescriptor,
    TreeDescriptor,
)

VERBS = {
    "read": "Read",
    "grep": "Search",
    "find": "Find",
    "ls": "List",
    "bash": "Run",
    "edit": "Edit",
    "write": "Write",
}
RECOVERED = "recovered from text"
"""Of a call that was read from the model's text."""
_MAX_RESULT = 160
_MAX_OUTPUT_LINE = 60
_TEST_COUNT = re.compile(r"\b\d+ (?:passed|failed|errors?|skipped)\b")
_DURATION = re.compile(r"\b(in|took|after) (\d+(?:\.\d+)?) ?(ms|s|sec|secs|seconds?)\b")


def find_verb(tool: str) -> str:
    return VERBS.get(tool, tool)


def find_target(tool: str, arguments: Mapping[str, Any]) -> str:
    """What the call is about: its path or command, else its first text."""
    told = [value for value in arguments.values() if isinstance(value, str) and value]
    named = arguments.get(
        {"bash": "command", "grep": "pattern", "find": "pattern"}.get(tool, "path")
    )
    target = named if isinstance(named, str) and named else (told or [""])[0]
    place = arguments.get("path")
    if tool in ("grep", "find") and isinstance(place, str) and place not in ("", ".", target):
        return f"{target} in {place}"
    return target


def tell_result(event: ToolResultEvent) -> str:
    """Say what came of a call. Empty where the mark of the row says it all."""
    match event.status:
        case "ok" | "error":
            return _told_by_exit(event) or _told_by_kind(event)
        case "denied":
            return _first_line(event.content)
        case "interrupted":
            return "stopped"
        case _:
            return "outcome not known"


def _told_by_exit(event: ToolResultEvent) -> str:
    code = event.details.get("exit_code")
    if event.tool != "bash" and not isinstance(code, int):
        return ""
    counts = _count_tests(event.render)
    if isinstance(code, int) and code != 0:
        return ", ".join(part for part in (f"exit {code}", counts) if part)
    return "" if event.is_error else counts or _only_line(event.render)


def _told_by_kind(event: ToolResultEvent) -> str:
    if event.status == "error":
        return _label(event.render) if event.tool == "bash" else _first_line(event.content)
    diffs = [part for part in event.render if isinstance(part, DiffDescriptor)]
    if diffs:
        added, removed = sum(d.added for d in diffs), sum(d.removed for d in diffs)
        return f"+{added} -{removed}"
    trees = [part for part in event.render if isinstance(part, TreeDescriptor)]
    if trees:
        return count_noun(len(trees[0].root.children), "name")
    label = "" if event.tool == "bash" else _label(event.render)
    return label.rpartition(": ")[2].partition(", ")[0] if event.tool in VERBS else label


def _label(render: Sequence[RenderDescriptor]) -> str:
    labels = (part.label for part in render if isinstance(part, StatusDescriptor))
    return next(labels, "")[:_MAX_RESULT]


def _first_line(content: Sequence[ResultPart]) -> str:
    texts = (part.text.strip() for part in content if isinstance(part, TextBlock))
    first = next(texts, "").partition("\n")[0]
    return first if len(first) <= _MAX_RESULT else f"{first[: _MAX_RESULT - 1]}…"


def _output_lines(render: Sequence[RenderDescriptor]) -> Iterator[str]:
    for part in render:
        if isinstance(part, TextDescriptor):
            yield from part.text.strip().split("\n")


def _count_tests(render: Sequence[RenderDescriptor]) -> str:
    """Read the last line of a test run: `2 failed, 9 passed in 1.87s`."""
    last = ""
    for last in _output_lines(render):
        pass
    return ", ".join(_TEST_COUNT.findall(last[:400]))


def _only_line(render: Sequence[RenderDescriptor]) -> str:
    lines = list(_output_lines(render))
    return lines[0] if len(lines) == 1 and len(lines[0]) <= _MAX_OUTPUT_LINE else ""


def hide_durations(text: str) -> str:
    """Put `…` for how long a command says it took, which differs from run to run."""
    return _DURATION.sub(r"\1 … \3", text)


def images_in(content: Sequence[ResultPart]) -> Iterator[ImageBlock]:
    return (part for part in content if isinstance(part, ImageBlock))
