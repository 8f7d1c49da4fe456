"""Sentences about descriptors that are the same in every form (UI §6.2, §11). Pure.

What comes back may hold text of others: each form still has to make it visible and escape it.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite
from typing import Any

from shard_jupyter.surfaces.render_static.words.numbers import (
    show_bytes,
    show_cost,
    show_count,
)
from shard_jupyter.types.render_descriptors import (
    ApprovalDescriptor,
    DiffDescriptor,
    ImageDescriptor,
    PlanDescriptor,
    ProgressDescriptor,
    TableDescriptor,
    Tone,
    UsageDescriptor,
)

TONE_WORDS: dict[Tone, str] = {
    "info": "",
    "success": "Done: ",
    "warn": "Warning: ",
    "error": "Error: ",
}
MAX_TABLE_ROWS = 20
MAX_TREE_DEPTH = 32
_COVERED = {"once": "once", "session": "for this session", "always": "always"}
_PLACES = {"cli": "in the command line", "web": "in another window", "cassette": "as recorded"}


def count_noun(count: int, noun: str, nouns: str = "") -> str:
    return f"{count} {noun if count == 1 else nouns or f'{noun}s'}"


def show_progress(progress: ProgressDescriptor) -> str:
    total = "" if progress.total is None else f" of {_number(progress.total)}"
    return f"{progress.label} {_number(progress.current)}{total}"


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isfinite(value) else str(value)


def show_change(diff: DiffDescriptor) -> str:
    return f"+{diff.added} -{diff.removed}"


def describe_image(image: ImageDescriptor) -> str:
    size = f"{image.width} × {image.height}, " if image.width and image.height else ""
    return f"{image.media_type}, {size}{show_bytes(image.size_bytes)}"


def count_done(plan: PlanDescriptor) -> str:
    done = sum(step.done for step in plan.steps)
    return f"{plan.title or 'Plan'} · {done} of {len(plan.steps)} done"


def pad_rows(table: TableDescriptor) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the columns and the first rows, all of one length, so that no cell is lost."""
    rows = table.rows[:MAX_TABLE_ROWS]
    width = max([len(table.columns), *map(len, rows)])
    head, *padded = [(*row, *[""] * (width - len(row))) for row in (table.columns, *rows)]
    return head, padded


def count_hidden_rows(table: TableDescriptor) -> str:
    total = max(table.total_rows or 0, len(table.rows))
    hidden = total - min(len(table.rows), MAX_TABLE_ROWS)
    return f"{hidden} more {'row' if hidden == 1 else 'rows'}" if hidden else ""


def show_approval(approval: ApprovalDescriptor) -> str:
    """Put how a request ended into the words of UI §6.2."""
    match approval.state:
        case "waiting":
            return "Needs your answer"
        case "expired" | "withdrawn":
            word = approval.state.capitalize()
            return _join(f"{word}, not run", approval.note)
        case "denied":
            return _denied(approval)
        case _:
            return _allowed(approval)


def _allowed(approval: ApprovalDescriptor) -> str:
    if approval.by in ("rule", "mode"):
        return _join(f"Allowed by {approval.by}", approval.rule)
    told = f"Allowed {_who(approval.by)}"
    if approval.edited:
        return f"{told}, edited"
    if approval.by != "you":
        return told
    rule = f" ({approval.rule})" if approval.rule else ""
    return f"{told}, {_COVERED[approval.covers]}{rule}"


def _denied(approval: ApprovalDescriptor) -> str:
    if approval.by == "nobody":
        return "Denied: no one to ask"
    if approval.by in ("rule", "mode"):
        return _join(f"Denied by {approval.by}", approval.rule)
    note = f"“{approval.note}”" if approval.note else ""
    return _join(f"Denied {_who(approval.by)}", note)


def _who(by: str) -> str:
    return _PLACES.get(by) or f"by {by or 'someone'}"


def _join(*parts: str) -> str:
    return " · ".join(part for part in parts if part)


def show_usage(usage: UsageDescriptor) -> str:
    """One line. A sum with unknown parts is a lower bound, and says so."""
    return _join(*_tokens(usage), show_cost(usage.cost_usd), _context(usage))


def _tokens(usage: UsageDescriptor) -> Iterator[str]:
    if usage.input_tokens is None and usage.output_tokens is None:
        yield "tokens unknown"
        return
    more = "+" if usage.at_least else ""
    for tokens, word in ((usage.input_tokens, "in"), (usage.output_tokens, "out")):
        yield f"{word} unknown" if tokens is None else f"{show_count(tokens)}{more} {word}"


def _context(usage: UsageDescriptor) -> str:
    if not usage.context_window or usage.context_tokens is None:
        return ""
    share = round(100 * usage.context_tokens / usage.context_window)
    return f"{share} % of {show_count(usage.context_window).replace('.0', '')}"


def fallback_text(tag: str, raw: dict[str, Any]) -> str:
    """What a kind says of itself to those who do not know it; its name where it says nothing."""
    for key in ("fallback", "text"):
        if isinstance(raw.get(key), str):
            return str(raw[key])
    return f"({tag})"
