"""Which states a turn can be in, and what follows from what. Pure: no I/O, no clock.

Two rules of this file:
1. every change of a turn's state happens in `step`;
2. `step` says what is to be done next (instructions) and never does it.

    IDLE ──Started──▶ ASKING ──AnswerArrived, calls──▶ RUNNING ──CallClosed, last──▶ ASKING
                        │                                  │
                        ├─AnswerArrived, no calls──▶ ENDED  ├─Aborted, LimitHit──▶ ENDED
                        └─AnswerFailed, Aborted, LimitHit─▶ ENDED

Whatever ends a turn, each call that is still open gets exactly one closing instruction first, so
that a transcript never holds a call without its result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Literal

from shard_jupyter.contracts.provider import StopReason
from shard_jupyter.errors import IllegalTransition
from shard_jupyter.types.content import ToolCallBlock
from shard_jupyter.types.turns import ErrorInfo, Outcome

UNREADABLE_LIMIT = 3
"""Answers in a row whose calls could not be read, before the turn gives up."""


class Phase(StrEnum):
    IDLE = "idle"
    ASKING = "asking"
    """The model is being asked, or its answer is on the way."""
    RUNNING = "running"
    """Calls of the last answer are judged and run, in order."""
    ENDED = "ended"


@dataclass(frozen=True)
class TurnState:
    """`open_calls`: calls of the last answer that have no result yet, in order."""

    turn_id: str
    max_rounds: int = 200
    phase: Phase = Phase.IDLE
    open_calls: tuple[ToolCallBlock, ...] = ()
    rounds: int = 0
    unreadable_streak: int = 0
    outcome: Outcome | None = None
    story: tuple[str, ...] = field(default=(), compare=False)


# ------------------------------------------------------------------ events


@dataclass(frozen=True)
class Started:
    pass


@dataclass(frozen=True)
class AnswerArrived:
    """`steers_waiting`: somebody steered while the model wrote; the turn cannot end yet."""

    calls: tuple[ToolCallBlock, ...]
    stop_reason: StopReason
    steers_waiting: bool = False


@dataclass(frozen=True)
class AnswerFailed:
    error: ErrorInfo


@dataclass(frozen=True)
class CallClosed:
    """A result of this call is in the log, whatever it says."""

    call_id: str


@dataclass(frozen=True)
class LimitHit:
    error: ErrorInfo


@dataclass(frozen=True)
class Aborted:
    outcome: Literal["interrupted", "cancelled", "limit_reached", "failed"]
    error: ErrorInfo | None = None


TurnEvent = Started | AnswerArrived | AnswerFailed | CallClosed | LimitHit | Aborted


# ------------------------------------------------------------ instructions


@dataclass(frozen=True)
class AskModel:
    """Put waiting steers into the transcript, then ask."""


@dataclass(frozen=True)
class JudgeCalls:
    """All calls of a message enter the gate together, before the first runs."""

    calls: tuple[ToolCallBlock, ...]


@dataclass(frozen=True)
class RunCall:
    """Judge once more, then run, then write the result."""

    call: ToolCallBlock


@dataclass(frozen=True)
class CloseCall:
    """Write an *interrupted* result."""

    call: ToolCallBlock
    text: str


@dataclass(frozen=True)
class EndTurn:
    outcome: Outcome
    error: ErrorInfo | None = None


Instruction = AskModel | JudgeCalls | RunCall | CloseCall | EndTurn
Step = tuple[TurnState, tuple[Instruction, ...]]


def step(state: TurnState, event: TurnEvent) -> Step:
    """Apply one event.

    Raises:
        IllegalTransition: the table has no row for it.
    """
    name = type(event).__name__
    row = TRANSITIONS.get((state.phase, type(event)))
    if row is None:
        raise IllegalTransition("turn", state.phase, name, state.story)
    after, instructions = row(state, event)
    line = f"{state.phase} --{name}--> {after.phase}"
    return replace(after, story=(*state.story[-19:], line)), instructions


def _start(state: TurnState, _: TurnEvent) -> Step:
    return replace(state, phase=Phase.ASKING), (AskModel(),)


def _take_answer(state: TurnState, event: TurnEvent) -> Step:
    assert isinstance(event, AnswerArrived)
    state = replace(state, rounds=state.rounds + 1)
    if event.calls:
        return _take_calls(state, event)
    if event.stop_reason == "refusal":
        refused = ErrorInfo(
            code="refused", message="The model refused to answer.", next_step="Rephrase the prompt."
        )
        return _end(state, "failed", refused)
    if event.stop_reason == "length":
        cut = ErrorInfo(
            code="output_limit",
            message="The answer was cut at the model's output limit.",
            next_step="Raise limits.max_output_tokens, or ask for a shorter answer.",
        )
        return _end(state, "limit_reached", cut)
    if event.steers_waiting:
        return state, (AskModel(),)
    return _end(state, "completed", None)


def _take_calls(state: TurnState, event: AnswerArrived) -> Step:
    unreadable = all(call.arguments_error for call in event.calls)
    streak = state.unreadable_streak + 1 if unreadable else 0
    state = replace(state, phase=Phase.RUNNING, open_calls=event.calls, unreadable_streak=streak)
    if streak >= UNREADABLE_LIMIT:
        error = ErrorInfo(
            code="unreadable_arguments",
            message=f"The model sent unreadable tool arguments {streak} times in a row.",
            next_step="Choose another model, or raise limits.max_output_tokens.",
        )
        return _end(state, "failed", error)
    if state.rounds >= state.max_rounds:
        error = ErrorInfo(
            code="max_rounds",
            message=f"The turn reached its limit of {state.max_rounds} model calls.",
            next_step="Send another prompt to go on, or raise limits.max_rounds.",
        )
        return _end(state, "limit_reached", error)
    return state, (JudgeCalls(event.calls), RunCall(event.calls[0]))


def _close_call(state: TurnState, event: TurnEvent) -> Step:
    assert isinstance(event, CallClosed)
    if not state.open_calls or state.open_calls[0].call_id != event.call_id:
        raise IllegalTransition("turn", state.phase, f"CallClosed({event.call_id})", state.story)
    rest = state.open_calls[1:]
    state = replace(state, open_calls=rest)
    if rest:
        return state, (RunCall(rest[0]),)
    return replace(state, phase=Phase.ASKING), (AskModel(),)


def _fail(state: TurnState, event: TurnEvent) -> Step:
    assert isinstance(event, AnswerFailed)
    return _end(state, "failed", event.error)


def _hit_limit(state: TurnState, event: TurnEvent) -> Step:
    assert isinstance(event, LimitHit)
    return _end(state, "limit_reached", event.error)


def _abort(state: TurnState, event: TurnEvent) -> Step:
    assert isinstance(event, Aborted)
    return _end(state, event.outcome, event.error)


WHY_CLOSED: Mapping[Outcome, str] = {
    "interrupted": "interrupted: the user stopped the turn before this call had ended.",
    "cancelled": "interrupted: the turn was cancelled before this call had ended.",
    "limit_reached": "interrupted: the turn reached a limit before this call had ended.",
    "failed": "interrupted: the turn failed before this call had ended.",
}
"""What a model reads in place of a result. A completed turn has no open call."""


def _end(state: TurnState, outcome: Outcome, error: ErrorInfo | None) -> Step:
    """Close what is open, then end."""
    why = WHY_CLOSED.get(outcome, "")
    closing = tuple(CloseCall(call, why) for call in state.open_calls)
    ended = replace(state, phase=Phase.ENDED, open_calls=(), outcome=outcome)
    return ended, (*closing, EndTurn(outcome, error))


TRANSITIONS: dict[tuple[Phase, type[TurnEvent]], Callable[[TurnState, TurnEvent], Step]] = {
    (Phase.IDLE, Started): _start,
    (Phase.IDLE, Aborted): _abort,
    (Phase.ASKING, AnswerArrived): _take_answer,
    (Phase.ASKING, AnswerFailed): _fail,
    (Phase.ASKING, LimitHit): _hit_limit,
    (Phase.ASKING, Aborted): _abort,
    (Phase.RUNNING, CallClosed): _close_call,
    (Phase.RUNNING, LimitHit): _hit_limit,
    (Phase.RUNNING, Aborted): _abort,
}
"""Every pair that is not listed is refused."""
