"""A record that fits: head and tail are kept, whole items at a time (DESIGN §9.3). Pure.

First the longest texts that steps show are cut, and only then items in the middle are left out; the
answer is cut at whole blocks. Whatever is cut says so where it stood.
"""

from __future__ import annotations

from collections.abc import Sequence

from shard_jupyter.surfaces.render_static.kept_ends import keep_ends
from shard_jupyter.surfaces.render_static.prose.short_prose import shorten_prose
from shard_jupyter.surfaces.render_static.record.record_items import (
    ChangedFile,
    DeniedCall,
    NoticeItem,
    ProseItem,
    RecordItem,
    SteerItem,
    StepItem,
)
from shard_jupyter.surfaces.render_static.record.short_descriptors import (
    shorten_descriptor,
    size_of,
)
from shard_jupyter.surfaces.render_static.turn_record import TurnRecord
from shard_jupyter.surfaces.render_static.words.descriptor_words import count_noun
from shard_jupyter.types.render_descriptors import (
    ApprovalDescriptor,
    RenderDescriptor,
)
from shard_jupyter.types.turns import ErrorInfo

_SMALLEST_ITEM = 300
"""Below that much for each, items are left out."""
_ITEM_OVERHEAD = 80
_MAX_FILES = 50
_MAX_DENIALS = 8
_MAX_NAME = 200
_MAX_MESSAGE = 1_000


def weigh(record: TurnRecord) -> int:
    """About how many characters the record takes."""
    return len(record.answer) + len(record.prompt) + sum(map(_weigh_item, record.items)) + 1_000


def _weigh_item(item: RecordItem) -> int:
    match item:
        case StepItem():
            shown = sum(map(size_of, (*item.render, *item.approvals)))
            return _ITEM_OVERHEAD + len(item.verb) + len(item.target) + len(item.result) + shown
        case ProseItem() | SteerItem():
            return len(item.text) + _ITEM_OVERHEAD
        case NoticeItem():
            return len(item.message) + _ITEM_OVERHEAD
        case _:
            return len(repr(item))


def shorten_record(record: TurnRecord, budget: int) -> TurnRecord:
    """Cut a record to about `budget` characters."""
    answer = shorten_prose(record.answer, budget * 2 // 5)
    prompt = keep_ends(record.prompt, budget // 10)
    room = budget - len(answer) - len(prompt)
    error = record.error
    changes = {
        "agent": _cut_line(record.agent, _MAX_NAME),
        "model": _cut_line(record.model, _MAX_NAME),
        "mode": _cut_line(record.mode, _MAX_NAME),
        "prompt": prompt,
        "answer": answer,
        "summary": _cut_line(record.summary, _MAX_NAME),
        "error": error and _cut_error(error, min(_MAX_MESSAGE, budget // 10)),
        "changed_files": tuple(map(_cut_file, record.changed_files[:_MAX_FILES])),
        "resets_at": record.resets_at and record.resets_at[:_MAX_NAME],
        "denials": tuple(_cut_denial(each) for each in record.denials[:_MAX_DENIALS]),
        "items": tuple(_fit_items(record.items, room)),
        "is_shortened": True,
    }
    return record.model_copy(update=changes)


def _cut_line(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _cut_error(error: ErrorInfo, limit: int) -> ErrorInfo:
    changes = {
        "message": keep_ends(error.message, limit),
        "next_step": keep_ends(error.next_step, limit),
    }
    return error.model_copy(update=changes)


def _cut_file(file: ChangedFile) -> ChangedFile:
    return file.model_copy(update={"path": _cut_line(file.path, _MAX_NAME)})


def _cut_denial(denial: DeniedCall) -> DeniedCall:
    """A rule that is cut would allow something else, so it is whole or left out."""
    changes = {
        "tool": _cut_line(denial.tool, _MAX_NAME),
        "target": _cut_line(denial.target, _MAX_NAME),
        "reason": keep_ends(denial.reason, _MAX_NAME),
        "would_allow": denial.would_allow if len(denial.would_allow) <= _MAX_MESSAGE else "",
    }
    return denial.model_copy(update=changes)


def _fit_items(items: Sequence[RecordItem], room: int) -> Sequence[RecordItem]:
    sizes = list(map(_weigh_item, items))
    if sum(sizes) <= room:
        return items
    cap = max(_SMALLEST_ITEM, _find_cap(sizes, room))
    cut = [
        item if size <= cap else _cut_item(item, cap)
        for item, size in zip(items, sizes, strict=True)
    ]
    if sum(map(_weigh_item, cut)) <= room:
        return cut
    bare = [without_render(item) for item in cut]
    head = _take(bare, room // 3)
    tail = _take(bare[: len(head) - 1 : -1] if head else bare[::-1], room - room // 3)[::-1]
    hidden = len(bare) - len(head) - len(tail)
    gap = [NoticeItem(message=f"{count_noun(hidden, 'item')} left out here.")] if hidden else []
    return [*head, *gap, *tail]


def _find_cap(sizes: Sequence[int], room: int) -> int:
    """Find the size that the largest may keep so that all fit: the small ones stay whole."""
    rest = sorted(sizes)
    for at, size in enumerate(rest):
        share = room // (len(rest) - at)
        if size > share:
            return share
        room -= size
    return rest[-1] if rest else 0


def _take(items: Sequence[RecordItem], room: int) -> list[RecordItem]:
    taken: list[RecordItem] = []
    for item in items:
        room -= _weigh_item(item)
        if room < 0:
            break
        taken.append(item)
    return taken


def _cut_item(item: RecordItem, cap: int) -> RecordItem:
    match item:
        case StepItem():
            return _cut_step(item, cap)
        case ProseItem():
            return item.model_copy(update={"text": shorten_prose(item.text, cap)})
        case SteerItem():
            return item.model_copy(update={"text": keep_ends(item.text, cap)})
        case NoticeItem():
            return item.model_copy(update={"message": keep_ends(item.message, cap)})
        case _:
            return NoticeItem(message=f"({item.tag[:_MAX_NAME]})")


def _cut_step(step: StepItem, cap: int) -> StepItem:
    target = keep_ends(step.target, cap // 2)
    approvals = tuple(map(_cut_approval, step.approvals[-3:]))
    room = cap - _ITEM_OVERHEAD - len(target) - sum(map(size_of, approvals))
    changes = {
        "target": target,
        "result": _cut_line(step.result, _MAX_NAME),
        "tool": _cut_line(step.tool, _MAX_NAME),
        "verb": _cut_line(step.verb, _MAX_NAME),
        "approvals": approvals,
        "render": _fit_render(step.render, room),
    }
    return step.model_copy(update=changes)


def _cut_approval(approval: ApprovalDescriptor) -> ApprovalDescriptor:
    texts = {name: getattr(approval, name) for name in ("question", "by", "rule", "note")}
    cut = {name: _cut_line(text, _MAX_NAME // 2) for name, text in texts.items()}
    cut["why"] = keep_ends(approval.why, _MAX_NAME)
    # Half of what would run is worse than none: the question itself says what it is about.
    return approval.model_copy(update={**cut, "facts": None})


def _fit_render(render: Sequence[RenderDescriptor], room: int) -> tuple[RenderDescriptor, ...]:
    cap = _find_cap(list(map(size_of, render)), room)
    parts = (shorten_descriptor(part, cap) for part in render)
    return tuple(part for part in parts if part is not None)


def without_render(item: RecordItem) -> RecordItem:
    if isinstance(item, StepItem) and item.render:
        return item.model_copy(update={"render": ()})
    return item


def without_open_questions(record: TurnRecord) -> TurnRecord:
    """Leave out what is asked, where that is shown as a whole elsewhere. Pure."""
    return record.model_copy(update={"items": tuple(map(_without_question, record.items))})


def _without_question(item: RecordItem) -> RecordItem:
    if not isinstance(item, StepItem) or item.state != "waiting":
        return item
    answered = tuple(each for each in item.approvals if each.state != "waiting")
    return item.model_copy(update={"approvals": answered, "render": ()})
