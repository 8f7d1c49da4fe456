"""The record of a turn: what is kept of it in a notebook, made from its events.

The record does not depend on how the text came in: pieces of any size, some of them twice, or none
at all give the same one. A deterministic record also has no times and no usage in it, and nothing
of what went wrong and was made good (retries, answers that were cut off), so that two runs of the
same turn give the same record.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from typing import Any, Literal

from shard_jupyter.surfaces.render_static.record.record_items import (
    ChangedFile,
    DeniedCall,
    NoticeItem,
    ProseItem,
    RecordItem,
    SteerItem,
    StepItem,
)
from shard_jupyter.surfaces.render_static.record.recorded_files import list_changed_files
from shard_jupyter.surfaces.render_static.record.recorded_steps import RecordedSteps, StepEvent
from shard_jupyter.surfaces.render_static.record.recorded_text import OpenText
from shard_jupyter.surfaces.render_static.record.recorded_usage import add_call, final_usage
from shard_jupyter.surfaces.render_static.record.step_summary import summarise
from shard_jupyter.surfaces.render_static.words.model_words import show_model
from shard_jupyter.surfaces.render_static.words.notice_words import tell_notice
from shard_jupyter.types.content import TextBlock
from shard_jupyter.types.events import (
    AgentEvent,
    FilesChanged,
    LimitReached,
    MessageComplete,
    MessageDelta,
    MessageDiscarded,
    ModeChanged,
    ModelSwitched,
    SteerInjected,
    TurnEnd,
    TurnStart,
    UiRequest,
    UiResolved,
    UsageEvent,
)
from shard_jupyter.types.render_descriptors import Tone, UsageDescriptor
from shard_jupyter.types.turns import ErrorInfo, Outcome
from shard_jupyter.types.wire_model import KeptModel, Unknown

TurnState = Literal["not started", "running", "waiting", "done", "failed", "stopped", "limit"]
HERE = frozenset({"notebook", "kernel", "sdk"})
_ENDED: dict[Outcome, TurnState] = {
    "completed": "done",
    "failed": "failed",
    "cancelled": "stopped",
    "interrupted": "stopped",
    "limit_reached": "limit",
}


class TurnRecord(KeptModel):
    """The JSON of `application/vnd.shard.transcript.v1+json`."""

    version: Literal[1] = 1
    agent: str
    model: str = ""
    mode: str = ""
    prompt: str
    deterministic: bool
    state: TurnState = "not started"
    outcome: Outcome | None = None
    items: tuple[RecordItem, ...] = ()
    """In the order in which things happened; the answer is not among them."""
    answer: str = ""
    changed_files: tuple[ChangedFile, ...] = ()
    denials: tuple[DeniedCall, ...] = ()
    """Calls that nobody could allow, or a rule forbade, in a run where nobody was asked."""
    error: ErrorInfo | None = None
    resets_at: str | None = None
    """When the limit that ended the turn is over."""
    usage: UsageDescriptor | None = None
    seconds: float | None = None
    """How long it took; so far, while it runs."""
    summary: str = ""
    """All steps in a few words: `Read 3 files, ran 4 commands`."""
    step_count: int = 0
    is_shortened: bool = False
    """It was too long for the notebook: parts of texts, or items in the middle, are left out."""


class TurnRecorder:
    """Reduces the events of one turn to a record. Not thread-safe.

    `turn_id` is the turn to follow; without it, the first that starts is. `you` are the names under
    which the person at this notebook answers approvals.
    """

    def __init__(
        self,
        *,
        agent: str,
        prompt: str,
        deterministic: bool,
        clock: Callable[[], float] = time.monotonic,
        turn_id: str | None = None,
        you: Collection[str] = HERE,
    ) -> None:
        self._clock = clock
        self._kept: dict[str, Any] = {
            "agent": agent,
            "prompt": prompt,
            "deterministic": deterministic,
        }
        self._deterministic = deterministic
        self._steps = RecordedSteps(clock, deterministic=deterministic, you=you)
        self._items: list[RecordItem | int] = []
        """A number stands for the step that has it."""
        self._call_numbers: dict[str, int] = {}
        self._open: dict[str, OpenText] = {}
        self._seen: set[tuple[str, str]] = set()
        self._dialogs: set[str] = set()
        self._undrawn: dict[int, tuple[str, ...]] = {}
        self._usage = UsageDescriptor()
        self._turn_id = turn_id
        self._started: float | None = None
        self._ended = False

    def take(self, event: AgentEvent) -> bool:
        """Take an event in; True when something visible has changed.

        Events of other turns, those that came before, and what comes after the end do nothing.
        """
        if self._ended or isinstance(event, Unknown) or not self._is_of_turn(event):
            return False
        if self._started is None and event.turn_id and event.turn_id == self._turn_id:
            self._started = self._clock()
        match event:
            case TurnStart():
                return self._start(event)
            case MessageDelta():
                return self._delta(event)
            case MessageComplete():
                return self._complete(event)
            case TurnEnd():
                return self._end(event)
            case _ if isinstance(event, StepEvent):
                return self._step(event)
            case _:
                return self._other(event)

    def note(self, message: str, tone: Tone = "info") -> None:
        """Add a notice of the client's own, also after the end."""
        self._items.append(NoticeItem(message=message, tone=tone))

    def fail(self, error: ErrorInfo) -> None:
        """End the record without a `turn_end`: the turn could not be started, or the link broke."""
        if not self._ended:
            self._close("failed", error)

    def record(self) -> TurnRecord:
        """The record as it stands. Items that have not changed are the same objects again."""
        steps = {step.number: step for step in self._steps.view()}
        items = [steps[item] if isinstance(item, int) else item for item in self._items]
        texts = [open_text.join() for open_text in self._open.values()]
        items += [ProseItem(text=text, is_open=True) for text in texts if text.strip()]
        changes: dict[str, Any] = {
            "items": tuple(items),
            "state": self._state(steps.values()),
            "summary": summarise(steps.values()),
            "step_count": len(steps),
            "changed_files": list_changed_files(steps.values(), self._undrawn),
        }
        if not self._deterministic and self._started is not None:
            changes["usage"] = self._kept.get("usage") or self._usage
            changes["seconds"] = self._kept.get("seconds", self._clock() - self._started)
        return TurnRecord(**{**self._kept, **changes})

    def _state(self, steps: Collection[StepItem]) -> TurnState:
        outcome: Outcome | None = self._kept.get("outcome")
        if self._started is None:
            return "not started"
        if outcome is not None:
            return _ENDED[outcome]
        waits = self._dialogs or any(step.state == "waiting" for step in steps)
        return "waiting" if waits else "running"

    def _is_of_turn(self, event: Any) -> bool:  # noqa: ANN401 - any member of the union
        return None in (event.turn_id, self._turn_id) or event.turn_id == self._turn_id

    def _is_new(self, kind: str, key: str | None) -> bool:
        """Whether this was not taken before: after a lost link events may come again."""
        if key is None:
            return True
        is_new = (kind, key) not in self._seen
        self._seen.add((kind, key))
        return is_new

    def _start(self, event: TurnStart) -> bool:
        if "model" in self._kept:
            return False
        self._turn_id = event.turn_id
        if self._started is None:
            self._started = self._clock()
        self._kept.update(model=show_model(event.model), mode=event.mode)
        return True

    def _delta(self, event: MessageDelta) -> bool:
        if event.channel != "text" or ("message", event.item_id) in self._seen:
            return False
        return self._open.setdefault(event.item_id, OpenText()).add(event.offset, event.text)

    def _complete(self, event: MessageComplete) -> bool:
        self._open.pop(event.item_id, None)
        text = "".join(block.text for block in event.content if isinstance(block, TextBlock))
        if not self._is_new("message", event.item_id) or not text.strip():
            return False
        self._items.append(ProseItem(text=text))
        return True

    def _step(self, event: StepEvent) -> bool:
        number, changed = self._steps.take(event)
        if number is not None:
            self._items.append(number)
            self._call_numbers[event.call_id] = number
        return changed

    def _other(self, event: AgentEvent) -> bool:
        match event:
            case MessageDiscarded():
                return self._discard(event)
            case SteerInjected():
                return self._steer(event)
            case UsageEvent():
                return self._is_new("usage", _place(event)) and self._count(event)
            case FilesChanged():
                number = self._call_numbers.get(event.call_id, 0)
                told = (*self._undrawn.get(number, ()), *event.paths)
                self._undrawn[number] = tuple(dict.fromkeys(told))
                return False
            case LimitReached():
                self._kept["resets_at"] = None if self._deterministic else event.resets_at
                return False
            case UiRequest() | UiResolved():
                return self._dialog(event)
            case ModelSwitched() | ModeChanged():
                return self._switch(event)
            case _:
                return self._notice(event)

    def _discard(self, event: MessageDiscarded) -> bool:
        seen = self._open.pop(event.item_id, None)
        is_new = self._is_new("message", event.item_id)
        return (is_new and self._notice(event)) or seen is not None

    def _steer(self, event: SteerInjected) -> bool:
        if not self._is_new("steer", event.entry_id):
            return False
        self._items.append(SteerItem(text=event.text))
        return True

    def _dialog(self, event: UiRequest | UiResolved) -> bool:
        if isinstance(event, UiResolved):
            self._dialogs.discard(event.request_id)
            return True
        if event.dialog != "notify" and ("ui_request", _place(event)) not in self._seen:
            self._dialogs.add(event.request_id)
        return self._notice(event)

    def _switch(self, event: ModelSwitched | ModeChanged) -> bool:
        """Before the turn it is no news: the head says what it runs with."""
        if self._started is None or not self._is_new("switch", _place(event)):
            return False
        if isinstance(event, ModelSwitched):
            self._kept["model"] = show_model(event.new_model)
        else:
            self._kept["mode"] = event.new_mode
        return self._notice(event)

    def _notice(self, event: Any) -> bool:  # noqa: ANN401 - any member of the union
        told = tell_notice(event, deterministic=self._deterministic)
        if told is None or not self._is_new(event.type, _place(event)):
            return False
        self._items.append(NoticeItem(message=told[0], tone=told[1]))
        return True

    def _count(self, event: UsageEvent) -> bool:
        """Sum up what the turn has used so far; its end tells the sums again."""
        self._usage = add_call(self._usage, event)
        return not self._deterministic

    def _end(self, event: TurnEnd) -> bool:
        if event.outcome == "completed":
            self._take_answer(event.text)
        self._kept["denials"] = tuple(self._denied_calls(event))
        if not self._deterministic:
            self._kept["usage"] = final_usage(event.usage, self._usage)
        self._close(event.outcome, event.error)
        return True

    def _close(self, outcome: Outcome, error: ErrorInfo | None) -> None:
        self._steps.close()
        self._open.clear()
        self._dialogs.clear()
        self._kept.update(outcome=outcome, error=error)
        if self._started is not None and not self._deterministic:
            self._kept["seconds"] = self._clock() - self._started
        self._ended = True

    def _take_answer(self, text: str) -> None:
        """The last text is the answer; it stands by itself, not among the items."""
        places = [at for at, item in enumerate(self._items) if isinstance(item, ProseItem)]
        last = self._items[places[-1]] if places else None
        if isinstance(last, ProseItem) and last.text == text:
            del self._items[places[-1]]
        self._kept["answer"] = text

    def _denied_calls(self, event: TurnEnd) -> Iterator[DeniedCall]:
        steps = {step.number: step for step in self._steps.view()}
        told: dict[DeniedCall, None] = {}
        for denial in event.denials:
            step = steps.get(self._call_numbers.get(denial.call_id, 0))
            self._steps.shorten_denial(denial.call_id)
            call = DeniedCall(
                tool=denial.tool,
                target=step.target if step else "",
                reason=denial.reason,
                would_allow=denial.would_allow,
            )
            told[call] = None
        return iter(told)


def _place(event: Any) -> str | None:  # noqa: ANN401 - any member of the union
    """What tells an event that came twice from two alike; None where nothing does."""
    for name in ("entry_id", "request_id", "seq"):
        if getattr(event, name, None) is not None:
            return f"{event.type} {getattr(event, name)}"
    return None
