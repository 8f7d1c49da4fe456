"""Whether a call may run: judged when its message arrives, and again when its turn comes.

The first judgement only opens the questions of a message, so that a person sees them all at once.
The second one counts. A person's yes stands in for an allowance where the second judgement still
asks, and asks the same as what was shown; it never goes before a denial.

A cassette (ask=recorded) answers as the person did: the same questions, looked for when the call's
turn comes, which is the order in which they were recorded.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import anyio
import anyio.to_thread

from shard_jupyter.contracts.permission_gate import Offer
from shard_jupyter.core.calls.equal_calls import (
    count_wanted,
    count_with_twins,
    find_twin,
    take_twins_answer,
)
from shard_jupyter.core.calls.ready_call import MessageCalls, Question, ReadyCall
from shard_jupyter.core.calls.recorded_answers import BY_CASSETTE, keep_answer, take_answer
from shard_jupyter.core.calls.tool_boundary import read_call, show_call
from shard_jupyter.core.permissions.headless_policy import (
    is_headless,
    settle_without_person,
    write_rules,
)
from shard_jupyter.core.permissions.pending_requests import Resolved, Verdict
from shard_jupyter.core.turn import AgentParts, Turn
from shard_jupyter.errors import ModelVisibleError, StorageError, ToolFailed
from shard_jupyter.types.decisions import Allow, AllowAlways, Ask, Decision, Deny
from shard_jupyter.types.events import Notice, PermissionRequest, StatusEvent, ToolCallEvent
from shard_jupyter.types.render_descriptors import ApprovalDescriptor

STRICTNESS = ("allow", "allow_always", "ask", "deny")


async def ask_early(turn: Turn, ready: ReadyCall) -> None:
    """Open the question of a call, if it needs one and somebody can be asked.

    Raises:
        ModelVisibleError: the call names a path that is none.
    """
    if is_headless(turn.ask) and turn.ask != "recorded":
        return
    decision = await _judge(turn, ready)
    if not isinstance(decision, Ask):
        return
    if turn.ask == "recorded":
        ready.asked_early = decision
        return
    ready.twin = find_twin(ready, decision)
    if ready.twin is None:
        await _open_question(turn, ready, decision, times=count_wanted(ready))


async def decide(turn: Turn, ready: ReadyCall) -> Verdict:
    """Judge for good, and ask where that is an ask. What was decided has been written down.

    A question that is still open when it ends in another way is taken back in every client.

    Raises:
        ModelVisibleError: the call names a path that is none, or was edited into one that is no
            call.
    """
    verdict: Verdict | None = None
    while True:
        decision = await _judge(turn, ready)
        is_void = isinstance(decision, Ask) and decision.covers != ready.agreed
        unkept, ready.unkept = ready.unkept, None
        if unkept is not None and not is_void:
            await keep_answer(turn, unkept)
        if isinstance(decision, Ask) and verdict is not None and not is_void:
            ready.allowed_by = decision
            return verdict
        if turn.ask == "recorded":
            await _play_answer(turn, ready, decision)
        if isinstance(decision, Ask):
            settled = await _answer_without_asking(turn, ready, decision)
            if settled is not None:
                return settled
            await _renew_question(turn, ready, decision)
        elif not _is_answered(turn, ready):
            return _conclude(turn, ready, decision)
        assert ready.question is not None
        ready.agreed = ready.question.covers
        verdict = await _await_person(turn, ready, ready.question)
        if isinstance(verdict, Deny):
            return verdict
        if ready.is_settled:
            # The gate closed it, and nobody said yes: that holds as long as the gate says so.
            verdict = None


async def _answer_without_asking(turn: Turn, ready: ReadyCall, ask: Ask) -> Verdict | None:
    """Take the answer to the equal call before it, or what the policy says; None: ask."""
    verdict = await take_twins_answer(turn, ready, ask)
    if verdict is not None:
        return verdict
    if is_headless(turn.ask) and ready.question is None:
        return await _settle(turn, ready, ask)
    return None


async def find_late_denial(turn: Turn, ready: ReadyCall) -> Deny | None:
    """Look once more, as the last thing before the effect: the disk has taken its time meanwhile.

    Raises:
        ModelVisibleError: what the call reaches is not what was allowed any more.
    """
    decision = await _judge(turn, ready)
    if isinstance(decision, Deny):
        _record(turn, ready, decision, by="gate")
        return decision
    if isinstance(decision, Ask) and decision.covers != ready.agreed:
        raise ToolFailed("Not run: what it reaches has just changed.", next_step="Call it again.")
    if isinstance(decision, Allow) and not isinstance(ready.allowed_by, Ask):
        ready.allowed_by = decision
    return None


def withdraw_question(turn: Turn, ready: ReadyCall, reason: str) -> None:
    """Take a question back in every client. Never an allowance."""
    question, ready.question = ready.question, None
    if question is not None:
        turn.parts.desk.forget(question.request_id, reason)


async def _judge(turn: Turn, ready: ReadyCall) -> Decision:
    """Judge by the mode of the message and, if it was changed since, by the new one: the stricter.

    So nobody gets a call through by a change of mode while it waits, and no change of mode that
    was meant to stop things comes too late.
    """
    modes, judge, request = turn.parts.modes, turn.parts.gate.judge, ready.request
    while True:
        current = modes.current.name
        requests = [request]
        if current != request.mode:
            requests.append(request.model_copy(update={"mode": current}))
        decisions = [await anyio.to_thread.run_sync(judge, each) for each in requests]
        if modes.current.name == current:
            strictest = max(decisions, key=lambda decision: STRICTNESS.index(decision.kind))
            ready.places = strictest.places if isinstance(strictest, Allow | Ask) else ()
            return strictest


async def _offer(turn: Turn, ready: ReadyCall) -> Offer:
    return await anyio.to_thread.run_sync(turn.parts.gate.offer, ready.request)


async def _play_answer(turn: Turn, ready: ReadyCall, decision: Decision) -> None:
    """Ask and answer in one go, if the cassette has the answer.

    Also where the gate has stopped asking since the message came: the person was asked then.
    """
    ask = decision if isinstance(decision, Ask) else ready.asked_early
    ready.asked_early = None
    if ask is None:
        return
    offer = await _offer(turn, ready)
    answer = take_answer(turn, ready, offer)
    if answer is None:
        return
    await _open_question(turn, ready, ask, offer)
    turn.parts.desk.answer(
        turn.parts.agent_id,
        ask.request_id,
        answer.decision,
        answer.rule,
        BY_CASSETTE,
        note=answer.note,
        arguments=answer.arguments,
    )


async def _settle(turn: Turn, ready: ReadyCall, ask: Ask) -> Verdict:
    offer = Offer() if turn.ask == "yes" else await _offer(turn, ready)
    decision = settle_without_person(turn.ask, ask, offer, is_recovered=ready.request.is_recovered)
    ready.agreed, ready.allowed_by = ask.covers, ask
    _record(turn, ready, decision, by="headless")
    return decision


def _conclude(turn: Turn, ready: ReadyCall, decision: Allow | AllowAlways | Deny) -> Verdict:
    """The gate decides by itself: a question that was open needs no answer any more."""
    if ready.question is not None:
        turn.parts.desk.settle(ready.question.request_id, _as_told(decision), "gate")
        withdraw_question(turn, ready, "")
    elif isinstance(decision, Deny) or (ready.request.may_change_things and not ready.is_settled):
        _record(turn, ready, decision, by="gate")
    if isinstance(decision, Allow):
        ready.allowed_by = decision
    return decision


def _as_told(decision: Allow | AllowAlways | Deny) -> Verdict:
    """What clients get to see of it: where paths lead is for the run alone."""
    return decision.model_copy(update={"places": ()}) if isinstance(decision, Allow) else decision


def _is_answered(turn: Turn, ready: ReadyCall) -> bool:
    return ready.question is not None and not turn.parts.desk.is_open(ready.question.request_id)


async def _renew_question(turn: Turn, ready: ReadyCall, ask: Ask) -> None:
    """Make sure that a question is there; what it was asked for may have changed meanwhile."""
    question = ready.question
    if question is not None:
        if question.covers == ask.covers or _is_answered(turn, ready):
            return
        withdraw_question(turn, ready, "The call reaches something else now.")
        await _show_anew(turn, ready)
    await _open_question(turn, ready, ask, times=count_with_twins(ready))


async def _open_question(
    turn: Turn, ready: ReadyCall, ask: Ask, offer: Offer | None = None, *, times: int = 1
) -> None:
    """Put the question to all clients. `times`: so many equal calls of the message it is for."""
    parts = turn.parts
    if offer is None:
        offer = await _offer(turn, ready)
    seconds = parts.settings.ask_timeout_seconds or None
    expires = parts.clock.now() + timedelta(seconds=seconds) if seconds else None
    question = PermissionRequest(
        agent_id=parts.agent_id,
        turn_id=turn.turn_id,
        request_id=ask.request_id,
        call_id=ready.call.call_id,
        tool=ready.call.name,
        prompt=ask.prompt if times == 1 else f"{ask.prompt} ({times} times)",
        arguments=dict(ready.arguments),
        render=ready.render,
        why=ask.why,
        offered_rules=offer.rules,
        would_allow=write_rules(offer),
        expires_at=expires.isoformat(timespec="milliseconds") if expires else None,
        recovered=ready.call.recovered,
        approval=ApprovalDescriptor(
            question=ask.prompt,
            state="waiting",
            edited=ready.is_edited,
            why=ask.why,
            facts=offer.facts,
        ),
    )
    _record(turn, ready, ask, by="gate", request_id=ask.request_id)
    parts.desk.open(question, timeout_seconds=seconds)
    ready.question = Question(ask, names_network=bool(offer.facts.network))
    parts.bus.emit(question)


async def _await_person(turn: Turn, ready: ReadyCall, question: Question) -> Verdict:
    """Wait for the first answer, whoever gives it; it is on disk before it is acted on."""
    turn.emit(StatusEvent, status="waiting-for-permission")
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(_close_covered_questions, turn, ready.message)
            resolved = await turn.parts.desk.wait(question.request_id)
            group.cancel_scope.cancel()
    finally:
        ready.question = None
        turn.emit(StatusEvent, status="streaming")
    ready.answered, ready.is_settled = resolved, resolved.state == "settled"
    if isinstance(resolved.decision, AllowAlways):
        await _close_covered(turn, ready.message)
    await turn.parts.transcript.wait_for_disk()
    await save_grants(turn.parts)
    # Not for what was edited: whether that needs the network was no part of the question.
    has_network = question.names_network and resolved.arguments is None
    ready.context = replace(ready.context, has_network=has_network)
    if resolved.arguments is not None or isinstance(resolved.decision, Deny):
        await keep_answer(turn, resolved)
    else:
        ready.unkept = resolved
    if resolved.arguments is not None:
        await _take_edit(turn, ready, resolved.arguments)
    return resolved.decision


async def _close_covered_questions(turn: Turn, message: MessageCalls) -> None:
    """Whenever somebody has said "always", also to another question. Until it is cancelled."""
    while True:
        message.seen_always = await turn.parts.desk.next_always(message.seen_always)
        await _close_covered(turn, message)


async def _close_covered(turn: Turn, message: MessageCalls) -> None:
    """Close the open questions that need no answer any more, because a new grant covers them."""
    for ready in message.ready:
        if ready.question is None or _is_answered(turn, ready):
            continue
        with suppress(ModelVisibleError):  # told when the call's turn comes
            decision = await _judge(turn, ready)
            if isinstance(decision, Allow) and ready.question is not None:
                turn.parts.desk.settle(ready.question.request_id, _as_told(decision), "gate")


def write_down(parts: AgentParts, resolved: Resolved) -> None:
    """Record how a question ended and tell every client, at once, whoever still waits for it."""
    request = resolved.request
    try:
        parts.transcript.record_permission(
            request.turn_id or "",
            request.call_id,
            resolved.decision,
            by=resolved.by,
            request_id=request.request_id,
            arguments=resolved.arguments,
        )
        if isinstance(resolved.decision, AllowAlways):
            timestamp = parts.clock.now().isoformat(timespec="milliseconds")
            rule, keep = resolved.decision.rule, resolved.decision.keep
            grant = parts.grants.give(rule, by=resolved.by, timestamp=timestamp, keep=keep)
            if keep in ("session", "agent"):
                parts.transcript.record_grant(grant)
    except StorageError:
        # The turn meets the same error at its next entry; whoever answered is not to blame.
        pass
    parts.bus.emit(resolved.as_event())


async def save_grants(parts: AgentParts) -> None:
    """Write what was allowed for longer to its file; where that fails, every client is told."""
    with anyio.CancelScope(shield=True):
        problems = await anyio.to_thread.run_sync(parts.grants.save)
    for message in problems:
        parts.bus.emit(
            Notice(agent_id=parts.agent_id, code="not_kept", message=message, tone="warn")
        )


async def _take_edit(turn: Turn, ready: ReadyCall, arguments: dict[str, Any]) -> None:
    """Put a person's arguments in place of the model's; they enter the gate again."""
    ready.arguments, reach = read_call(ready.tool, arguments)
    ready.request = ready.request.model_copy(
        update={"arguments": dict(ready.arguments), "reach": reach}
    )
    ready.is_edited = True
    await _show_anew(turn, ready)


async def _show_anew(turn: Turn, ready: ReadyCall) -> None:
    ready.render = await show_call(ready.tool, ready.arguments, ready.context)
    turn.emit(
        ToolCallEvent,
        call_id=ready.call.call_id,
        tool=ready.call.name,
        arguments=dict(ready.arguments),
        render=ready.render,
        recovered=ready.call.recovered,
    )


def _record(
    turn: Turn, ready: ReadyCall, decision: Decision, *, by: str, request_id: str | None = None
) -> None:
    turn.parts.transcript.record_permission(
        turn.turn_id, ready.call.call_id, decision, by=by, request_id=request_id
    )
