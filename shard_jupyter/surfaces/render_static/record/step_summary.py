"""All steps of a turn in one line: `Read 3 files, searched twice, ran 4 commands`. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from shard_jupyter.surfaces.render_static.record.record_items import StepItem
from shard_jupyter.surfaces.render_static.words.descriptor_words import count_noun

# Verb, noun, plural; what is about files counts each file once.
_FILE_PHRASES = {
    "read": ("read", "file", "files"),
    "ls": ("listed", "folder", "folders"),
    "edit": ("edited", "file", "files"),
    "write": ("wrote", "file", "files"),
}
_TIMES = {1: "once", 2: "twice"}
_UNDONE = {"denied": "denied", "interrupted": "stopped", "uncertain": "left open"}


def summarise(steps: Iterable[StepItem]) -> str:
    done: dict[str, list[StepItem]] = {}
    undone: dict[str, int] = {}
    for step in steps:
        if step.state in _UNDONE or (step.state == "error" and step.tool != "bash"):
            word = _UNDONE.get(step.state, "failed")
            undone[word] = undone.get(word, 0) + 1
        elif step.state in ("ok", "error"):
            done.setdefault(step.tool, []).append(step)
    phrases = [*(_phrase(tool, calls) for tool, calls in done.items()), *_undone(undone)]
    told = ", ".join(phrases)
    return told[:1].upper() + told[1:]


def _phrase(tool: str, calls: list[StepItem]) -> str:
    count = len(calls)
    if tool in _FILE_PHRASES:
        verb, noun, nouns = _FILE_PHRASES[tool]
        return f"{verb} {count_noun(len({call.target for call in calls}), noun, nouns)}"
    if tool == "bash":
        return f"ran {count_noun(count, 'command')}"
    times = _TIMES.get(count, f"{count} times")
    if tool == "grep":
        return f"searched {times}"
    return f"looked for files {times}" if tool == "find" else f"used {tool} {times}"


def _undone(undone: dict[str, int]) -> Iterator[str]:
    for word, count in undone.items():
        yield f"{count_noun(count, 'step')} {word}"
