"""The turn loop (Shard §5).

`turn_state` decides what comes next; this module does it, one instruction at a time, and feeds
what happened back. Two invariants: tools are filtered by mode before the model is asked and judged
by the gate when they run; compaction happens at boundaries only, never inside a model call or a
tool.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

import anyio

from shard_jupyter.contracts.compactor import Compactor
from shard_jupyter.core import model_call, tool_calls
from shard_jupyter.core.calls.call_permission import withdraw_question
from shard_jupyter.core.calls.ready_call import MessageCalls, PreparedCall, ReadyCall
from shard_jupyter.core.turn import Turn
from shard_jupyter.core.turn_state import (
    Aborted,
    AskModel,
    CallClosed,
    CloseCall,
    EndTurn,
    Instruction,
    JudgeCalls,
    Phase,
    RunCall,
    Started,
    TurnEvent,
)
from shard_jupyter.errors import Bug, ShardError, StorageError
from shard_jupyter.store.group_commit import Commit
from shard_jupyter.store.surrogates import clean_text
from shard_jupyter.types.events import (
    CompactionEvent,
    LimitReached,
    Notice,
    StatusEvent,
    TurnEnd,
    TurnStart,
)
from shard_jupyter.types.tool_results import ResultStatus, error_result
from shard_jupyter.types.turns import ErrorInfo, TurnResult


async def run_turn(turn: Turn, prompt: str) -> TurnResult:
    """Run one turn to its end.

    `turn.interrupt()` and the deadline of `turn.scope` stop it; cancelling the caller ends it as
    cancelled and re-raises. Whatever happens, each call has got its one result, no question is
    open, and every client was told of the end. All of it is on disk, unless the disk is at fault.

    Raises:
        StorageError: what happened could not be written; the turn stops where it is.
    """
    parts = turn.parts
    parts.steers.open_turn(turn.turn_id)
    calls: dict[str, PreparedCall] = {}
    try:
        parts.transcript.record_prompt(turn.turn_id, prompt)
        try:
            _announce(turn, prompt)
            with turn.scope:
                await _drive(turn, Started(), calls)
            if turn.state.phase is not Phase.ENDED:
                await _abort(turn, _name_stop(turn), calls)
        except BaseException as error:
            await _break_off(turn, error, calls)
            raise
    finally:
        parts.steers.close_turn()
    if turn.result is None:
        raise Bug("a turn ended without a result")
    return turn.result


def _name_stop(turn: Turn) -> Aborted:
    """The scope was cancelled: by a person, or by its deadline."""
    if turn.is_interrupted or turn.timeout_seconds is None:
        return Aborted("interrupted")
    error = ErrorInfo(
        code="timeout",
        message=f"The turn was stopped after {turn.timeout_seconds:g} s.",
        next_step="Raise --timeout, or ask for less at once.",
    )
    turn.emit(LimitReached, limit="timeout", message=error.message)
    return Aborted("limit_reached", error)


async def _break_off(turn: Turn, error: BaseException, calls: dict[str, PreparedCall]) -> None:
    """Bring a turn to its end that an exception left in the middle. `error` is the one to raise."""
    aborted = Aborted("failed", _describe(error))
    if isinstance(error, anyio.get_cancelled_exc_class()):
        aborted = Aborted("cancelled")
    try:
        if turn.state.phase is not Phase.ENDED:
            await _abort(turn, aborted, calls)
    except StorageError:
        # The disk that broke the turn also takes no end of it; clients must not wait for one.
        pass
    finally:
        if not turn.is_end_told:
            turn.result = _make_result(turn, EndTurn(aborted.outcome, aborted.error))
            _tell_end(turn)


def _describe(error: BaseException) -> ErrorInfo:
    if isinstance(error, ShardError):
        return ErrorInfo(code=error.code, message=error.message, next_step=error.next_step)
    return ErrorInfo(code="bug", message=f"The turn broke off: {type(error).__name__}.")


async def _abort(turn: Turn, aborted: Aborted, calls: dict[str, PreparedCall]) -> None:
    """Take back every question, close every call, and end."""
    for prepared in calls.values():
        if isinstance(prepared, ReadyCall):
            withdraw_question(turn, prepared, "The turn has ended.")
    with anyio.CancelScope(shield=True):
        await _drive(turn, aborted, calls)


async def _drive(turn: Turn, event: TurnEvent, calls: dict[str, PreparedCall]) -> None:
    todo = deque(turn.advance(event))
    while todo:
        happened = await _carry_out(turn, todo.popleft(), calls)
        if happened is not None:
            todo.extend(turn.advance(happened))


async def _carry_out(
    turn: Turn, instruction: Instruction, calls: dict[str, PreparedCall]
) -> TurnEvent | None:
    match instruction:
        case AskModel():
            _compact_when_full(turn)
            return await model_call.ask(turn)
        case JudgeCalls(wanted):
            message = MessageCalls(tuple(wanted))
            for call in wanted:
                calls[call.call_id] = await tool_calls.prepare(turn, call, message)
            return None
        case RunCall(call):
            result = await tool_calls.run(turn, calls[call.call_id])
            tool_calls.record(turn, call, result)
            return CallClosed(call.call_id)
        case CloseCall():
            _close_call(turn, instruction, calls.get(instruction.call.call_id))
            return None
        case EndTurn():
            await _end(turn, instruction)
            return None


def _announce(turn: Turn, prompt: str) -> None:
    parts = turn.parts
    turn.emit(TurnStart, prompt=prompt, model=parts.model_id, mode=parts.modes.current.name)
    turn.emit(StatusEvent, status="streaming")


def _close_call(turn: Turn, closing: CloseCall, prepared: PreparedCall | None) -> None:
    """Give an open call its result. It may have got one just before the turn was stopped."""
    call = closing.call
    if not turn.parts.transcript.is_open(call.call_id):
        return
    text = closing.text
    status: ResultStatus = "interrupted"
    if turn.state.outcome == "failed" and isinstance(prepared, ReadyCall) and prepared.has_started:
        text, status = "uncertain: it was started, and its outcome is not known.", "uncertain"
    partial = turn.partial_output.get(call.call_id)
    if partial:
        text = f"{text}\nIts output until then ended with:\n{partial}"
    tool_calls.record(turn, call, error_result(text, status=status))


async def _end(turn: Turn, end: EndTurn) -> None:
    """Write the end, wait until it is on disk, then say so. Cancelled, it still does all that."""
    if end.outcome == "completed":
        _keep_plan(turn)
    turn.result = _make_result(turn, end)
    cancelled = await _wait_for_disk(turn.parts.transcript.record_turn_end(turn.result))
    _tell_end(turn)
    if cancelled is not None:
        raise cancelled


async def _wait_for_disk(commit: Commit) -> asyncio.CancelledError | None:
    """Wait to the end; return the cancellation that came meanwhile."""
    cancelled = None
    with anyio.CancelScope(shield=True):
        is_there = False
        while not is_there:
            try:
                await commit.wait()
                is_there = True
            except asyncio.CancelledError as error:
                # asyncio's own cancellation knows no shield. It comes once, and is raised later.
                cancelled = error
    return cancelled


def _make_result(turn: Turn, end: EndTurn) -> TurnResult:
    return TurnResult(
        turn_id=turn.turn_id,
        outcome=end.outcome,
        text=turn.last_text,
        error=end.error,
        usage=turn.usage,
        denials=tuple(turn.denials),
        changed_paths=tuple(turn.changed_paths),
        rounds=turn.state.rounds,
    )


def _tell_end(turn: Turn) -> None:
    """The last thing of a turn: whoever hears that it is idle may send the next prompt."""
    assert turn.result is not None
    turn.is_end_told = True
    turn.emit(
        TurnEnd,
        outcome=turn.result.outcome,
        text=turn.result.text,
        error=turn.result.error,
        usage=turn.result.usage,
        denials=turn.result.denials,
        changed_paths=turn.result.changed_paths,
    )
    if turn.result.outcome != "failed":
        _compact_when_due(turn)
    turn.emit(StatusEvent, status="idle")


@contextmanager
def _contain(turn: Turn, what: str) -> Iterator[None]:
    """The fault boundary around what extensions do at the edges of a turn."""
    try:
        yield
    except (Bug, StorageError):
        raise
    except Exception as error:  # noqa: BLE001 - foreign code must not end the turn
        message = clean_text(f"{what} failed: {type(error).__name__}: {error}")
        turn.emit(Notice, code="extension_fault", message=message, tone="error")


def _keep_plan(turn: Turn) -> None:
    """Ask the mode's extractor for something worth keeping (Shard §4.4)."""
    name = turn.parts.modes.current.turn_end_extractor
    if name is None:
        return
    extractor = turn.parts.extractors.get(name)
    if extractor is None:
        message = f"No extension brings the extractor {name!r}, so nothing was kept."
        turn.emit(Notice, code="no_extractor", message=message, tone="warn")
        return
    plan = None
    with _contain(turn, f"The extractor {name!r}"):
        plan = extractor(turn.last_text)
    if plan is not None:
        turn.parts.transcript.record_plan(plan)
    else:
        turn.emit(
            Notice, code="no_plan", message="The answer holds no plan section, so no plan was kept."
        )


def _compact_when_due(turn: Turn) -> None:
    """Between turns: fold when the compactor says that the reserve is reached."""
    window = turn.parts.provider.route.context_window
    compactor = turn.parts.compactor
    used = turn.context_tokens
    if compactor is None or not window or not used:
        return
    with _contain(turn, f"The compactor {compactor.name!r}"):
        if compactor.should_compact(used, window):
            _compact(turn, compactor)


def _compact_when_full(turn: Turn) -> None:
    """Between two model calls: fold when the next one would overflow. All calls are closed."""
    window = turn.parts.provider.route.context_window
    compactor = turn.parts.compactor
    if compactor is None or not window or (turn.context_tokens or 0) < window:
        return
    with _contain(turn, f"The compactor {compactor.name!r}"):
        _compact(turn, compactor)


def _compact(turn: Turn, compactor: Compactor) -> None:
    entry = turn.parts.transcript.compact(compactor)
    if entry is not None:
        turn.context_tokens = entry.tokens_after
        turn.emit(
            CompactionEvent,
            entry_id=entry.id,
            index=entry.index,
            tokens_before=entry.tokens_before,
            tokens_after=entry.tokens_after,
        )
