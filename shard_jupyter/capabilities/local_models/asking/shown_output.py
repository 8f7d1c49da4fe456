"""What the person is shown of a tool's output in the answer of a small model. Pure.

Such a model cannot tell what it read, so the answer is what was read.
"""

from __future__ import annotations

import re
from typing import Literal

from shard_jupyter.capabilities.local_models.asking.situation import Step

MOST_LINES = 20
MOST_BYTES = 2_000
_SILENT = frozenset({"write", "edit"})
"""Tools whose result only says that they did it."""
_REMARK = re.compile(r"\([^\n()]{1,80}\)")
"""What a tool says in place of an output: `(no output)`."""
DENIED = "`{tool}` was not allowed, so nothing was done."
FAILED = "`{tool}` failed:"
REPEATED = "The model asked for the same again, so it ends here."
NOTHING_SAID = "`{tool}` is done."


def end_without_model(step: Step) -> str:
    """Return the whole answer after a step of which a small model says what is not so.

    Of a refusal it says that it was done, of a failure that nothing was found. Empty otherwise.
    """
    if step.status == "denied":
        return DENIED.format(tool=step.name)
    return show_step(step) if step.status == "failed" else ""


def show_step(step: Step) -> str:
    """Return the block that stands before the words of the model; empty where there is none."""
    if step.status == "failed":
        told = FAILED.format(tool=step.name)
        block = fence(step.result, keep="end")
        return f"{told}\n{block}" if block else f"{told[:-1]}."
    if step.name in _SILENT:
        return ""
    if _REMARK.fullmatch(step.result.strip()):
        return step.result.strip()
    return fence(step.result, keep="start")


def fence(text: str, *, keep: Literal["start", "end"]) -> str:
    """Put the first or last lines between fences that nothing in them can close."""
    lines = text.strip("\n").split("\n")
    if lines == [""]:
        return ""
    kept = _fit(lines if keep == "start" else lines[::-1])
    if keep == "end":
        kept.reverse()
    body = "\n".join(kept)
    ticks = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", body)), 0)
    which = "first" if keep == "start" else "last"
    told = f"\n({which} {len(kept)} of {len(lines)} lines)" if len(kept) < len(lines) else ""
    return f"{ticks}\n{body}\n{ticks}{told}"


def _fit(lines: list[str]) -> list[str]:
    kept: list[str] = []
    left = MOST_BYTES
    for line in lines[:MOST_LINES]:
        size = len(line.encode("utf-8", "replace")) + 1
        if size > left:
            if not kept:  # one long line: better its start than nothing
                kept.append(line.encode("utf-8", "replace")[:left].decode("utf-8", "ignore") + "…")
            break
        kept.append(line)
        left -= size
    return kept
