"""What is kept of an answer, and when a kept one may be given. Pure."""

from __future__ import annotations

from typing import Any

import pytest

from shard_jupyter.contracts.permission_gate import Offer
from shard_jupyter.contracts.provider import RecordedAnswer
from shard_jupyter.core.calls.recorded_answers import describe_answer, may_be_given
from shard_jupyter.core.permissions.headless_policy import is_headless, settle_without_person
from shard_jupyter.core.permissions.pending_requests import PendingRequests, Resolved
from shard_jupyter.types.decisions import Ask, Rule
from shard_jupyter.types.events import PermissionRequest

pytestmark = pytest.mark.proves("E04", "A06")
RULE = Rule(effect="allow", tool="write", path="a", source="run")
WIDER = Rule(effect="allow", tool="write", path="**", source="run")
REQUEST = PermissionRequest(
    agent_id="agent-1",
    request_id="req-1",
    call_id="call-1",
    tool="write",
    prompt="Allow write a?",
    arguments={"path": "a"},
    offered_rules=(RULE,),
)


def answered(decision: Any, rule: Rule | None = None, by: str = "ada", **more: Any) -> Resolved:
    table = PendingRequests()
    table.open(REQUEST)
    resolved = table.answer("agent-1", "req-1", decision, rule, by, **more)
    assert isinstance(resolved, Resolved)
    return resolved


@pytest.mark.parametrize(
    ("decision", "given", "kept"),
    [
        ("allow", {}, {}),
        ("allow", {"arguments": {"path": "b"}}, {"arguments": {"path": "b"}}),
        ("allow_always", {"rule": RULE}, {"rule": RULE}),
        ("deny", {"note": "use b"}, {"note": "use b"}),
    ],
)
def test_all_that_was_said_is_kept_and_not_who_said_it(
    decision: str, given: dict[str, Any], kept: dict[str, Any]
) -> None:
    described = describe_answer(answered(decision, **given))
    assert described == RecordedAnswer(decision=decision, **kept)
    assert described == describe_answer(answered(decision, by="bob", **given))


def test_a_denial_reads_the_same_whoever_gave_it() -> None:
    """The model is sent it, so a replay would ask for something else."""
    assert answered("deny").decision == answered("deny", by="cassette").decision


def test_a_rule_is_given_only_where_it_is_offered() -> None:
    offer = Offer(rules=(RULE,), would_allow=RULE)
    always = RecordedAnswer(decision="allow_always", rule=RULE)
    assert may_be_given(always, offer)
    assert not may_be_given(always, Offer())
    assert not may_be_given(RecordedAnswer(decision="allow_always", rule=WIDER), offer)
    assert not may_be_given(RecordedAnswer(decision="allow_always"), offer)
    assert may_be_given(RecordedAnswer(decision="allow"), Offer())


def test_a_question_without_an_answer_is_denied_and_names_the_rule() -> None:
    ask = Ask(prompt="?", request_id="r", why="no rule allows it")
    denial = settle_without_person("recorded", ask, Offer(would_allow=RULE))
    assert (denial.kind, denial.by) == ("deny", "headless")
    assert denial.reason == (
        "The cassette holds no answer to this question, and no rule allows it."
    )
    assert '"path": "a"' in denial.would_allow
    assert is_headless("recorded")
