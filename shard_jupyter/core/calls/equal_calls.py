"""Equal calls of one message: a person is asked once, for all of them (T81).

Not where they change a file: after the first the others would change something else than what was
shown, so that an answer could not be for all.
"""

from __future__ import annotations

from dataclasses import replace

from shard_jupyter.core.calls.ready_call import ReadyCall
from shard_jupyter.core.calls.recorded_answers import keep_answer
from shard_jupyter.core.permissions.pending_requests import Verdict
from shard_jupyter.core.turn import Turn
from shard_jupyter.types.decisions import Ask


def find_twin(ready: ReadyCall, ask: Ask) -> ReadyCall | None:
    """Find the equal call before this one whose question is open and asks the same."""
    for other in ready.message.ready:
        question = other.question
        if question is not None and question.covers == ask.covers and _are_equal(other, ready):
            return other
    return None


def count_wanted(ready: ReadyCall) -> int:
    """How many calls an answer to this one's question will be for, once all are looked at."""
    return 1 if ready.request.reach.kind == "write" else ready.message.count_equal(ready.call)


def count_with_twins(ready: ReadyCall) -> int:
    """How many calls an answer to this one's question is for."""
    return 1 + sum(other.twin is ready for other in ready.message.ready)


async def take_twins_answer(turn: Turn, ready: ReadyCall, ask: Ask) -> Verdict | None:
    """Take what was answered for the equal call before this one; None where that cannot be.

    It cannot where that answer changed the arguments, or the call reaches something else by now.

    Raises:
        StorageError: the cassette cannot be written.
    """
    twin, ready.twin = ready.twin, None
    if twin is None or twin.answered is None or twin.is_edited or twin.agreed != ask.covers:
        return None
    resolved = twin.answered
    if resolved.state == "settled":
        return None
    ready.agreed, ready.allowed_by = ask.covers, ask
    ready.context = replace(ready.context, has_network=twin.context.has_network)
    turn.parts.transcript.record_permission(
        turn.turn_id, ready.call.call_id, resolved.decision, by=resolved.by
    )
    await turn.parts.transcript.wait_for_disk()
    await keep_answer(turn, resolved)
    return resolved.decision


def _are_equal(one: ReadyCall, other: ReadyCall) -> bool:
    return (
        one.request.reach.kind != "write"
        and one.call.name == other.call.name
        and dict(one.arguments) == dict(other.arguments)
        and one.request.reach == other.request.reach
        and one.call.recovered == other.call.recovered
        and not one.is_edited
    )
