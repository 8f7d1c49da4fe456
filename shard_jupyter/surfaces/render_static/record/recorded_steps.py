"""The tool calls of a turn while its record is made: one row a call, whatever comes when."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from shard_jupyter.surfaces.render_static.kept_ends import keep_ends
from shard_jupyter.surfaces.render_static.record.record_items import OpenState, StepItem
from shard_jupyter.surfaces.render_static.record.recorded_approvals import (
    open_approval,
    resolve_approval,
)
from shard_jupyter.surfaces.render_static.words.step_words import (
    find_target,
    find_verb,
    hide_durations,
    images_in,
    tell_result,
)
from shard_jupyter.types.content import TextBlock
from shard_jupyter.types.events import (
    PermissionRequest,
    PermissionResolved,
    ToolCallEvent,
    ToolProgress,
    ToolResultEvent,
)
from shard_jupyter.types.render_descriptors import (
    ApprovalDescriptor,
    ImageDescriptor,
    KvDescriptor,
    RenderDescriptor,
    TextDescriptor,
)

StepEvent = ToolCallEvent | ToolProgress | ToolResultEvent | PermissionRequest | PermissionResolved
TAIL_LINES = 12
TAIL_CHARS = 4_000
MAX_TEXT_CHARS = 16_000
"""Of one text of a result; the start and the end are kept."""


@dataclass
class _Row:
    item: StepItem
    arguments: Mapping[str, Any]
    since: float
    before: tuple[RenderDescriptor, ...] = ()
    approvals: dict[str, ApprovalDescriptor] = field(default_factory=dict)
    tail: str = ""
    progress: tuple[RenderDescriptor, ...] = ()

    @property
    def is_open(self) -> bool:
        return self.item.state == "queued"

    def forget_edited(self) -> None:
        """What a person edited is asked again: the question for the first form has no answer."""
        kept = {key: each for key, each in self.approvals.items() if not each.edited}
        self.approvals = kept


class RecordedSteps:
    """`you` are the names under which the person at this notebook answers."""

    def __init__(
        self, clock: Callable[[], float], *, deterministic: bool, you: Container[str]
    ) -> None:
        self._clock = clock
        self._deterministic = deterministic
        self._you = you
        self._rows: dict[str, _Row] = {}
        self._last_result = 0.0

    def take(self, event: StepEvent) -> tuple[int | None, bool]:
        """Return the number of a step that is new, and whether something visible has changed."""
        match event:
            case ToolCallEvent():
                return self._call(event)
            case PermissionRequest():
                row, number = self._row_of(event.call_id, event.tool, event.arguments)
                self._mark(row, event)
                known = event.request_id in row.approvals
                if not known:
                    row.forget_edited()
                    asked = open_approval(event, deterministic=self._deterministic)
                    row.approvals[event.request_id] = asked
                return number, not known
            case ToolResultEvent():
                return self._finish(event)
            case _:
                row_or_none = self._rows.get(event.call_id)
                return None, row_or_none is not None and self._update(row_or_none, event)

    def view(self) -> Iterator[StepItem]:
        """Yield the steps in order. Of the open ones, the first that may run is running."""
        runs = False
        for row in self._rows.values():
            if not row.is_open:
                yield row.item
                continue
            state: OpenState = "queued" if runs else "running"
            if any(approval.state == "waiting" for approval in row.approvals.values()):
                state = "waiting"
            runs = runs or state == "running"
            yield self._open_view(row, state)

    def _open_view(self, row: _Row, state: OpenState) -> StepItem:
        changes: dict[str, Any] = {"state": state, "approvals": tuple(row.approvals.values())}
        changes["render"] = row.progress or row.before
        if state == "running" and not self._deterministic:
            changes["output_tail"] = "\n".join(row.tail.rstrip("\n").split("\n")[-TAIL_LINES:])
            changes["seconds"] = max(0.0, self._clock() - max(row.since, self._last_result))
        return row.item.model_copy(update=changes)

    def _row_of(
        self, call_id: str, tool: str, arguments: Mapping[str, Any]
    ) -> tuple[_Row, int | None]:
        if call_id in self._rows:
            return self._rows[call_id], None
        number = len(self._rows) + 1
        item = StepItem(
            number=number, tool=tool, verb=find_verb(tool), target=find_target(tool, arguments)
        )
        self._rows[call_id] = _Row(item, arguments, self._clock())
        return self._rows[call_id], number

    def _call(self, event: ToolCallEvent) -> tuple[int | None, bool]:
        row, number = self._row_of(event.call_id, event.tool, event.arguments)
        self._mark(row, event)
        if number is None and row.arguments == event.arguments and row.before == event.render:
            return None, False
        if row.arguments != event.arguments:  # a person has changed them
            row.arguments = event.arguments
            target = find_target(event.tool, event.arguments)
            row.item = row.item.model_copy(update={"target": target})
            for request_id in list(row.approvals)[-1:]:
                edited = row.approvals[request_id].model_copy(update={"edited": True})
                row.approvals[request_id] = edited
        row.before = event.render
        return number, True

    def _mark(self, row: _Row, event: ToolCallEvent | PermissionRequest) -> None:
        if event.recovered and not row.item.recovered:
            row.item = row.item.model_copy(update={"recovered": True})

    def _update(self, row: _Row, event: ToolProgress | PermissionResolved) -> bool:
        if not row.is_open:
            return False
        if isinstance(event, ToolProgress):
            row.tail = (row.tail + event.text)[-TAIL_CHARS:]
            row.progress = event.render or row.progress
            return not self._deterministic
        asked = row.approvals.get(event.request_id)
        if asked is None or asked.state != "waiting":
            return False
        row.approvals[event.request_id] = resolve_approval(asked, event, self._you)
        row.since = self._clock()  # the person's own time is not the tool's
        return True

    def _finish(self, event: ToolResultEvent) -> tuple[int | None, bool]:
        row, number = self._row_of(event.call_id, event.tool, {})
        if not row.is_open:
            return number, False
        now = self._clock()
        seconds = now - max(row.since, self._last_result)
        self._last_result = now
        changes: dict[str, Any] = {
            "state": event.status,
            "result": self._steady(tell_result(event)),
            "render": self._bound_all(_views_of(event, row.before)),
            "approvals": tuple(row.approvals.values()),
            "seconds": None if self._deterministic else max(0.0, seconds),
        }
        row.item = row.item.model_copy(update=changes)
        row.tail, row.before, row.progress = "", (), ()
        return number, True

    def shorten_denial(self, call_id: str) -> None:
        """The reason is told at the end of the turn, with what would allow the call."""
        row = self._rows.get(call_id)
        if row is not None and row.item.state == "denied":
            row.item = row.item.model_copy(update={"result": "denied"})

    def close(self) -> None:
        """The turn has ended: a call without a result has an outcome that nobody knows."""
        for row in self._rows.values():
            if row.is_open:
                changes = {
                    "state": "uncertain",
                    "render": self._bound_all(row.before),
                    "approvals": tuple(row.approvals.values()),
                }
                row.item = row.item.model_copy(update=changes)

    def _bound_all(self, parts: Iterable[RenderDescriptor]) -> tuple[RenderDescriptor, ...]:
        if self._deterministic:
            parts = (kept for part in parts if (kept := without_folder(part)) is not None)
        return tuple(map(self._bound, parts))

    def _bound(self, part: RenderDescriptor) -> RenderDescriptor:
        if not isinstance(part, TextDescriptor):
            return part
        return part.model_copy(update={"text": keep_ends(self._steady(part.text), MAX_TEXT_CHARS)})

    def _steady(self, text: str) -> str:
        return hide_durations(text) if self._deterministic else text


def without_folder(part: RenderDescriptor) -> RenderDescriptor | None:
    """Leave out in which folder it runs: the project lies somewhere else for everyone. Pure."""
    if not isinstance(part, KvDescriptor):
        return part
    kept = tuple(pair for pair in part.pairs if pair.k != "folder")
    return part.model_copy(update={"pairs": kept}) if kept else None


def _views_of(
    event: ToolResultEvent, before: tuple[RenderDescriptor, ...]
) -> Iterator[RenderDescriptor]:
    """Show the result; where a tool gave no view of it, its text, and what was not done."""
    yield from event.render
    if not event.render:
        text = "\n".join(part.text for part in event.content if isinstance(part, TextBlock))
        if text:
            yield TextDescriptor(text=text)
        if event.status == "denied":
            yield from before
    for image in images_in(event.content):
        yield ImageDescriptor(
            media_type=image.media_type, sha256=image.sha256, size_bytes=image.size_bytes
        )
