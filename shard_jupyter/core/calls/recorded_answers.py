"""What a person answered: kept in the cassette of this run, or taken from that of an earlier one."""

from __future__ import annotations

from shard_jupyter.contracts.permission_gate import Offer
from shard_jupyter.contracts.provider import AnswersAsks, KeepsAnswers, RecordedAnswer
from shard_jupyter.core.calls.ready_call import ReadyCall
from shard_jupyter.core.permissions.pending_requests import Resolved
from shard_jupyter.core.turn import Turn
from shard_jupyter.types.decisions import AllowAlways, Deny

BY_CASSETTE = "cassette"


def take_answer(turn: Turn, ready: ReadyCall, offer: Offer) -> RecordedAnswer | None:
    """Take the recorded answer to this call, if there is one and it may be given here."""
    if not isinstance(turn.provider, AnswersAsks):
        return None
    answer = turn.provider.find_answer(
        ready.call.name, ready.arguments, recovered=ready.request.is_recovered
    )
    return answer if answer is not None and may_be_given(answer, offer) else None


def may_be_given(answer: RecordedAnswer, offer: Offer) -> bool:
    """A rule is stored only where it is offered, as for a person; pure."""
    return answer.decision != "allow_always" or answer.rule in offer.rules


async def keep_answer(turn: Turn, resolved: Resolved) -> None:
    """Record an answer, where the run is recorded. What nobody answered is none.

    Raises:
        StorageError: the cassette cannot be written.
    """
    if resolved.state == "answered" and isinstance(turn.provider, KeepsAnswers):
        request = resolved.request
        await turn.provider.keep_answer(request.tool, request.arguments, describe_answer(resolved))


def describe_answer(resolved: Resolved) -> RecordedAnswer:
    """Say what was answered, without who did and when; pure."""
    decision = resolved.decision
    return RecordedAnswer(
        decision=decision.kind,
        note=decision.note if isinstance(decision, Deny) else "",
        rule=decision.rule if isinstance(decision, AllowAlways) else None,
        arguments=resolved.arguments,
        recovered=resolved.request.recovered,
    )
