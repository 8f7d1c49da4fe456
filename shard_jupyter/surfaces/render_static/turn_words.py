"""What is said of a turn, the same in every form (UI §4, §5.3, §5.8, §6). Pure.

What comes back may hold text of others: each form still has to make it visible and escape it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from shard_jupyter.surfaces.render_static.record.record_items import (
    ChangedFile,
    RecordItem,
    StepItem,
)
from shard_jupyter.surfaces.render_static.turn_record import TurnRecord, TurnState
from shard_jupyter.surfaces.render_static.words.descriptor_words import count_noun, show_approval
from shard_jupyter.surfaces.render_static.words.numbers import show_clock, show_seconds
from shard_jupyter.surfaces.render_static.words.step_words import RECOVERED
from shard_jupyter.types.render_descriptors import ApprovalDescriptor, DiffDescriptor

_MARKS: dict[TurnState, str] = {
    "not started": "✗",
    "running": "…",
    "waiting": "◆",
    "done": "✓",
    "failed": "✗",
    "stopped": "■",
    "limit": "◔",
}
_WORDS: dict[TurnState, str] = {
    "not started": "Not started",
    "running": "Running",
    "waiting": "Needs your answer",
    "done": "Done",
    "failed": "Failed",
    "stopped": "Stopped",
    "limit": "Stopped at a limit",
}
_STEP_MARKS = {
    "ok": "✓",
    "error": "✗",
    "denied": "⊘",
    "interrupted": "■",
    "uncertain": "?",
    "running": "…",
    "waiting": "◆",
    "queued": "◌",
}
MAX_TARGET = 100
MAX_DENIED = 400
MAX_RUNNING_ROWS = 12
SHORTENED = (
    "Parts of this turn are left out here. %shard history shows all of it; "
    "the session log keeps it."
)
_TONE_MARKS = {"info": "·", "success": "✓", "warn": "!", "error": "✗"}


@dataclass(frozen=True)
class Row:
    """A tool call on one line."""

    mark: str
    verb: str
    target: str
    result: str

    @property
    def is_cut(self) -> bool:
        return self.target.endswith("…")


def state_mark(record: TurnRecord) -> str:
    return _STEP_MARKS["denied"] if _was_denied(record) else _MARKS[record.state]


def state_word(record: TurnRecord) -> str:
    return "Done, but not all was allowed" if _was_denied(record) else _WORDS[record.state]


def _was_denied(record: TurnRecord) -> bool:
    """It came to an end, and yet the cell fails: not everything that was needed was allowed."""
    return record.state == "done" and bool(record.denials)


def show_duration(record: TurnRecord) -> str:
    if record.seconds is None:
        return ""
    return show_clock(record.seconds) if record.outcome is None else show_seconds(record.seconds)


def make_row(step: StepItem) -> Row:
    return Row(_STEP_MARKS[step.state], step.verb, one_line(step.target), row_result(step))


def row_result(step: StepItem) -> str:
    """Whether it was no real call, what came of it, then who allowed it."""
    parts = [_open_words(step) or step.result]
    parts += [show_approval(each) for each in step.approvals if each.state != "waiting"]
    if step.state == "denied" and len(parts) > 1:
        parts = parts[1:]  # the result of a denied call says the same
    if step.recovered:
        parts.insert(0, RECOVERED)
    return " · ".join(part for part in parts if part)


def _open_words(step: StepItem) -> str:
    match step.state:
        case "waiting":
            return "needs your answer"
        case "queued":
            return "not yet run"
        case "running":
            return "running" if step.seconds is None else f"running {show_clock(step.seconds)}"
        case _:
            return ""


def one_line(target: str, limit: int = MAX_TARGET) -> str:
    first, *rest = target.strip().split("\n", 1)
    return f"{first[: limit - 1]}…" if rest or len(first) > limit else first


def question_words(record: TurnRecord) -> str:
    """Tell of the oldest question that waits for an answer; empty when there is none."""
    lead = "Needs your answer"
    if record.outcome is not None:
        lead = "Was waiting for an answer when this was saved"
    asked = open_question(record)
    return "" if asked is None else f"{lead}: {asked.question}"


def open_question(record: TurnRecord) -> ApprovalDescriptor | None:
    """Return the oldest question that waits for an answer."""
    steps = (item for item in record.items if isinstance(item, StepItem))
    asked = (approval for step in steps for approval in step.approvals)
    return next((approval for approval in asked if approval.state == "waiting"), None)


def is_told_below(step: StepItem) -> bool:
    """What is asked stands below the steps, and the step shows no more than that."""
    told = any(each.state == "waiting" and each.facts is not None for each in step.approvals)
    return told and not any(isinstance(part, DiffDescriptor) for part in step.render)


def split_items(record: TurnRecord) -> tuple[Sequence[RecordItem], Sequence[RecordItem]]:
    """While a turn runs, tell its older items from the last ones, which stay in view."""
    items = record.items
    places = [at for at, item in enumerate(items) if isinstance(item, StepItem)]
    if record.outcome is not None or len(places) <= MAX_RUNNING_ROWS:
        return (), items
    cut = places[-MAX_RUNNING_ROWS]
    return items[:cut], items[cut:]


def count_earlier(items: Sequence[RecordItem]) -> str:
    return count_noun(sum(isinstance(item, StepItem) for item in items), "earlier step")


def summary_line(record: TurnRecord) -> str:
    steps = count_noun(record.step_count, "step") if record.step_count > 1 else ""
    if steps and record.summary.startswith(steps):
        steps = ""  # it says that all of them were denied
    return " · ".join(part for part in (record.summary, steps) if part)


def count_files(record: TurnRecord) -> str:
    return f"{count_noun(len(record.changed_files), 'file')} changed"


def sum_changes(files: tuple[ChangedFile, ...]) -> str:
    added, removed = sum(file.added for file in files), sum(file.removed for file in files)
    return f"+{added} -{removed}" if added or removed else ""


def tell_end(record: TurnRecord) -> Iterator[str]:
    """Say why it did not end well and what was kept; nothing for a turn that did.

    The first line is the error, the rest are whole sentences.
    """
    if record.outcome in (None, "completed"):
        return
    if record.error is not None:
        yield record.error.message
        if record.error.next_step:
            yield record.error.next_step
    elif record.state == "stopped":
        yield "The turn was stopped."
    else:
        yield f"The turn ended as {record.outcome}."
    if record.resets_at:
        yield f"The limit resets at {show_time(record.resets_at)}."
    yield _what_is_kept(record)


def _what_is_kept(record: TurnRecord) -> str:
    if record.state == "not started":
        return "Nothing was sent."
    count = len(record.changed_files)
    if not count:
        return "The conversation so far is kept."
    files = "is the changed file" if count == 1 else f"are the {count} changed files"
    return f"The conversation so far is kept, and so {files}."


def show_time(moment: str) -> str:
    """Write a moment of ISO 8601 to the minute; what is none, as it stands."""
    try:
        at = datetime.fromisoformat(moment)
    except ValueError:
        return moment
    return f"{at:%Y-%m-%d %H:%M} {at.tzname() or ''}".rstrip()


def notice_mark(tone: str) -> str:
    return _TONE_MARKS[tone]
