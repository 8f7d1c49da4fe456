"""One model call of a turn: the request, the deltas on the bus, the usage, the answer."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Literal

from shard_jupyter.contracts.provider import (
    Answered,
    ArgumentsDelta,
    Failed,
    ProviderFailure,
    ProviderNotice,
    ProviderRequest,
    ThinkingDelta,
)
from shard_jupyter.core.calls.wire_fitness import fit_for_wire, unfit_reason
from shard_jupyter.core.cancellation import is_cancelled
from shard_jupyter.core.limits.budget import find_exceeded
from shard_jupyter.core.limits.pricing import cost_usd
from shard_jupyter.core.providers.asking import Asked, Delta, Retry, ask_model
from shard_jupyter.core.system_prompt import build_system_prompt
from shard_jupyter.core.turn import Turn
from shard_jupyter.core.turn_state import AnswerArrived, AnswerFailed, LimitHit, TurnEvent
from shard_jupyter.errors import Bug, StorageError
from shard_jupyter.store.surrogates import clean_text
from shard_jupyter.types.content import ContentBlock, ToolCallBlock
from shard_jupyter.types.events import (
    LimitReached,
    MessageComplete,
    MessageDelta,
    MessageDiscarded,
    Notice,
    RetryScheduled,
    SteerInjected,
    UsageEvent,
)
from shard_jupyter.types.ids import new_id
from shard_jupyter.types.messages import Message
from shard_jupyter.types.turns import ErrorInfo
from shard_jupyter.types.usage import TokenUsage, UsageRecord, UsageTotals

NEXT_STEPS = {
    "auth": "Check the API key: `shard doctor` says which variable is used.",
    "not_found": "Check the model name: `shard models` lists what is known.",
    "bad_request": "The server refused the request; another model may accept it.",
    "context_full": "Start a new session, or choose a model with a larger context window.",
    "rate_limit": "Wait until the limit resets, or choose another model.",
    "overloaded": "The server is overloaded; try again later, or choose another model.",
    "server": "The server failed; try again later.",
    "network": "Check the connection and the base URL: `shard doctor` shows it.",
    "cut": "The answer was cut off each time; try again, or check the server.",
    "refused": "Rephrase the prompt.",
    "mismatch": "Record the cassette again with --record.",
}


@dataclass
class _Stream:
    """Where the deltas of the current attempt stand: how much was sent, by channel and call."""

    item_id: str = field(default_factory=lambda: new_id("item"))
    sent: dict[str, int] = field(default_factory=dict)
    attempts: int = 1


async def ask(turn: Turn) -> TurnEvent:
    """Put waiting steers in, ask, record the answer. Cancelled, it takes back what was shown."""
    inject_steers(turn)
    over = _check_budget(turn)
    if over:
        return over
    stream = _Stream()
    try:
        asked = await ask_model(
            turn.provider,
            build_request(turn),
            policy=turn.parts.settings.retry,
            clock=turn.parts.clock,
            on_event=lambda event: _show_delta(turn, stream, event),
            on_retry=lambda retry: _show_retry(turn, stream, retry),
        )
        outcome = asked.outcome
        if isinstance(outcome, Answered):
            outcome = outcome.model_copy(update={"message": _mend_answer(outcome.message)})
    except BaseException as error:
        _discard(turn, stream, "The answer broke off.")
        _count(turn, TokenUsage(), stream.attempts)
        if not _is_fault(error):
            raise
        # What it says of itself may hold a key, so it is not told.
        message = f"The provider of {turn.parts.model_id} failed: {type(error).__name__}."
        return AnswerFailed(ErrorInfo(code="provider_fault", message=message))
    if isinstance(outcome, Failed):
        return _take_failure(turn, stream, outcome.failure, asked)
    return _take_answer(turn, stream, outcome, asked.attempts)


def _is_fault(error: BaseException) -> bool:
    """A provider that raises breaks its contract; cancelling it, or a fault of ours, does not."""
    if isinstance(error, asyncio.CancelledError):
        return not is_cancelled()
    return isinstance(error, Exception) and not isinstance(error, (Bug, StorageError))


def inject_steers(turn: Turn) -> None:
    def take(text: str) -> None:
        entry_id, _ = turn.parts.transcript.record_prompt(turn.turn_id, text, steer=True)
        turn.emit(SteerInjected, entry_id=entry_id, text=text)

    turn.parts.steers.drain(take)


def build_request(turn: Turn) -> ProviderRequest:
    """Filter the tools by mode before the call (Shard §5, first invariant)."""
    parts = turn.parts
    mode = parts.modes.current
    tools = parts.registry.offered(mode)
    return ProviderRequest(
        model=parts.model_id.partition(":")[2],
        system=build_system_prompt(parts.cwd, mode, parts.transcript.plan),
        messages=tuple(parts.transcript.messages),
        tools=tuple(tool.spec for tool in tools),
        max_output_tokens=parts.settings.max_output_tokens,
    )


def _check_budget(turn: Turn) -> LimitHit | None:
    found = find_exceeded(turn.parts.settings.budget, turn.parts.totals) or find_exceeded(
        turn.options.budget, turn.usage, name="turn's budget"
    )
    if found is None:
        return None
    limit, message = found
    turn.emit(LimitReached, limit=limit, message=message)
    return LimitHit(
        ErrorInfo(code=limit, message=message, next_step="Raise --budget to let it go on.")
    )


def _show_delta(turn: Turn, stream: _Stream, event: Delta) -> None:
    if isinstance(event, ProviderNotice):
        turn.emit(Notice, code=event.code, message=clean_text(event.message))
        return
    call_id, tool = None, ""
    channel: Literal["text", "thinking", "tool_call"] = "text"
    if isinstance(event, ArgumentsDelta):
        channel, call_id, tool = "tool_call", event.call_id, event.tool
    elif isinstance(event, ThinkingDelta):
        channel = "thinking"
    text = clean_text(event.text)
    place = call_id or channel
    offset = stream.sent.get(place, 0)
    stream.sent[place] = offset + len(text)
    turn.emit(
        MessageDelta,
        item_id=stream.item_id,
        offset=offset,
        text=text,
        channel=channel,
        call_id=call_id,
        tool=tool,
    )


def _show_retry(turn: Turn, stream: _Stream, retry: Retry) -> None:
    failure = fit_for_wire(retry.failure)
    _discard(turn, stream, failure.message)
    turn.emit(
        RetryScheduled,
        attempt=retry.attempt,
        delay_seconds=retry.delay_seconds,
        error=failure.as_error(),
    )
    stream.item_id, stream.sent, stream.attempts = new_id("item"), {}, retry.attempt + 1


def _discard(turn: Turn, stream: _Stream, reason: str) -> None:
    if stream.sent:
        turn.emit(MessageDiscarded, item_id=stream.item_id, reason=reason)


def _take_failure(turn: Turn, stream: _Stream, failure: ProviderFailure, asked: Asked) -> TurnEvent:
    """A limit of the provider ends the turn as a limit, with the moment it resets."""
    failure = fit_for_wire(failure)
    _discard(turn, stream, failure.message)
    _count(turn, TokenUsage(), asked.attempts)
    error = failure.as_error(NEXT_STEPS.get(failure.kind, ""))
    if asked.resets_at is None:
        return AnswerFailed(error)
    turn.emit(
        LimitReached,
        limit="provider",
        message=failure.message,
        resets_at=asked.resets_at.isoformat(timespec="seconds"),
    )
    return LimitHit(error)


def _take_answer(turn: Turn, stream: _Stream, answer: Answered, attempts: int) -> AnswerArrived:
    parts = turn.parts
    message = answer.message
    entry_id, _ = parts.transcript.record_answer(
        turn.turn_id,
        message,
        model=parts.model_id,
        stop_reason=answer.stop_reason,
        tokens=answer.tokens,
    )
    turn.last_text = message.text or turn.last_text
    turn.emit(
        MessageComplete,
        entry_id=entry_id,
        item_id=stream.item_id,
        content=message.content,
        stop_reason=answer.stop_reason,
    )
    _count(turn, answer.tokens, attempts)
    return AnswerArrived(
        message.tool_calls, answer.stop_reason, steers_waiting=parts.steers.has_waiting
    )


def _mend_answer(message: Message) -> Message:
    """Take out of an answer what no log, client or later request could carry."""
    message = _tell_twins_apart(message)
    try:
        return fit_for_wire(message)
    except ValueError:
        return fit_for_wire(
            message.model_copy(update={"content": tuple(map(_mend_block, message.content))})
        )


def _tell_twins_apart(message: Message) -> Message:
    """Give each call an id of its own: results are paired by it."""
    ids = [call.call_id for call in message.tool_calls]
    if len(set(ids)) == len(ids):
        return message
    content: list[ContentBlock] = []
    seen: set[str] = set()
    for block in message.content:
        if isinstance(block, ToolCallBlock):
            if block.call_id in seen:
                block = block.model_copy(update={"call_id": new_id("call")})
            seen.add(block.call_id)
        content.append(block)
    return message.model_copy(update={"content": tuple(content)})


def _mend_block(block: ContentBlock) -> ContentBlock:
    if isinstance(block, ToolCallBlock) and (reason := unfit_reason(block)):
        return block.model_copy(update={"arguments": {}, "arguments_error": reason})
    return block


def _count(turn: Turn, tokens: TokenUsage, attempts: int) -> None:
    """Make the usage record of this call; a call without an answer has unknown tokens."""
    parts = turn.parts
    cost = cost_usd(tokens, parts.price)
    record = UsageRecord(
        agent_id=parts.agent_id,
        turn_id=turn.turn_id,
        model=parts.model_id,
        tokens=tokens,
        cost_usd=cost,
        timestamp=parts.clock.now().isoformat(timespec="milliseconds"),
        attempts=attempts,
    )
    turn.records.append(record)
    turn.usage = add_usage(turn.usage, record)
    parts.totals = add_usage(parts.totals, record)
    if tokens.input_tokens:  # none: the model was not asked, and its window is as full as before
        turn.context_tokens = tokens.input_tokens + (tokens.output_tokens or 0)
    turn.emit(
        UsageEvent,
        model=parts.model_id,
        tokens=tokens,
        cost_usd=cost,
        totals=parts.totals,
        context_tokens=turn.context_tokens,
        context_window=parts.provider.route.context_window,
    )


def add_usage(totals: UsageTotals, record: UsageRecord) -> UsageTotals:
    """Add one call; pure."""
    known = record.tokens.input_tokens is not None or record.tokens.output_tokens is not None
    cost = totals.cost_usd
    if record.cost_usd is not None:
        cost = (cost or 0.0) + record.cost_usd
    return UsageTotals(
        model_calls=totals.model_calls + 1,
        input_tokens=totals.input_tokens + (record.tokens.input_tokens or 0),
        output_tokens=totals.output_tokens + (record.tokens.output_tokens or 0),
        cost_usd=cost,
        unknown_calls=totals.unknown_calls + (0 if known else 1),
    )
