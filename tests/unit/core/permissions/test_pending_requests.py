from __future__ import annotations

from typing import Any, Literal

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    invariant,
    rule,
)

from shard_jupyter.core.permissions.pending_requests import (
    TRANSITIONS,
    Discarded,
    PendingRequests,
    Resolved,
    RuleRefused,
)
from shard_jupyter.errors import IllegalTransition
from shard_jupyter.types.decisions import Allow, AllowAlways, CommandPattern, Deny, Rule
from shard_jupyter.types.events import PermissionRequest

pytestmark = pytest.mark.proves("A06")

NARROW = Rule(effect="allow", tool="bash", command=CommandPattern(program="pytest", args=("-q",)))
PATH = Rule(effect="allow", tool="write", path="src/**")


def ask(request_id: str = "r", agent_id: str = "a") -> PermissionRequest:
    return PermissionRequest(
        agent_id=agent_id,
        turn_id="t",
        request_id=request_id,
        call_id=f"call-{request_id}",
        tool="bash",
        prompt="Run pytest -q?",
        arguments={"command": "pytest -q"},
        offered_rules=(NARROW, PATH),
    )


@pytest.fixture
def requests() -> PendingRequests:
    table = PendingRequests()
    table.open(ask())
    return table


def test_first_answer_wins_and_the_second_is_discarded(requests: PendingRequests) -> None:
    first = requests.answer("a", "r", "deny", None, "ada", note="use uv")
    second = requests.answer("a", "r", "allow", None, "bob")
    assert isinstance(first, Resolved)
    assert first.decision == Deny(reason="A person said no.", by="person", note="use uv")
    assert second == Discarded("r")
    assert requests.pending() == ()


def test_every_client_learns_who_decided(requests: PendingRequests) -> None:
    ended = requests.answer("a", "r", "allow", None, "ada")
    assert isinstance(ended, Resolved)
    event = ended.as_event()
    assert (event.request_id, event.call_id, event.turn_id, event.by) == ("r", "call-r", "t", "ada")
    assert isinstance(event.decision, Allow)


@pytest.mark.parametrize(("agent_id", "request_id"), [("b", "r"), ("a", "s"), ("", "")])
def test_foreign_and_unknown_answers_change_nothing(
    requests: PendingRequests, agent_id: str, request_id: str
) -> None:
    outcome = requests.answer(agent_id, request_id, "allow", None, "eve")
    assert outcome == Discarded(request_id)
    assert requests.pending("a") == (ask(),)


class TestRules:
    def test_offered_rule_is_stored_as_it_was_offered(self, requests: PendingRequests) -> None:
        ended = requests.answer("a", "r", "allow_always", PATH.model_dump(mode="json"), "ada")
        assert isinstance(ended, Resolved)
        assert isinstance(ended.decision, AllowAlways)
        assert ended.decision.rule is not None
        assert ended.decision.rule == PATH

    @pytest.mark.parametrize(
        "change",
        [
            {"tool": "*"},
            {"command": None},
            {"command": {"program": "pytest"}},
            {"command": {"program": "pytest", "args": ["**"]}},
            {"command": {"program": "pytest", "args": ["-q"], "cwd": "/"}},
            {"effect": "deny"},
            {"source": "policy"},
            {"path": "**"},
            {"pattern": "**"},
            {"effect": ["allow"]},
        ],
    )
    def test_rule_that_differs_in_anything_is_refused_and_the_request_stays(
        self, requests: PendingRequests, change: dict[str, Any]
    ) -> None:
        wider = {**NARROW.model_dump(mode="json"), **change}
        outcome = requests.answer("a", "r", "allow_always", wider, "eve")
        assert outcome == RuleRefused("r")
        assert isinstance(requests.answer("a", "r", "deny", None, "ada"), Resolved)

    def test_allow_always_without_a_rule_is_refused(self, requests: PendingRequests) -> None:
        assert requests.answer("a", "r", "allow_always", None, "ada") == RuleRefused("r")

    def test_late_answer_with_a_bad_rule_is_only_late(self, requests: PendingRequests) -> None:
        requests.answer("a", "r", "allow", None, "ada")
        assert requests.answer("a", "r", "allow_always", {}, "eve") == Discarded("r")

    def test_foreign_answer_with_a_bad_rule_tells_nothing(self, requests: PendingRequests) -> None:
        assert requests.answer("b", "r", "allow_always", {}, "eve") == Discarded("r")


def test_edited_arguments_count_with_allow_only(requests: PendingRequests) -> None:
    requests.open(ask("s"))
    allowed = requests.answer("a", "r", "allow", None, "ada", arguments={"command": "pytest"})
    denied = requests.answer("a", "s", "deny", None, "ada", arguments={"command": "pytest"})
    assert isinstance(allowed, Resolved)
    assert isinstance(denied, Resolved)
    assert (allowed.arguments, denied.arguments) == ({"command": "pytest"}, None)


def test_requests_expire_at_their_deadline_in_the_order_of_opening() -> None:
    table = PendingRequests()
    for request_id, deadline in (("r1", 20.0), ("r2", 10.0), ("r3", None), ("r4", 20.5)):
        table.open(ask(request_id), deadline=deadline)
    assert table.expire(9.9) == ()
    ended = table.expire(20.0)
    assert [one.request.request_id for one in ended] == ["r1", "r2"]
    assert {(one.state, one.decision.kind) for one in ended} == {("expired", "deny")}
    assert [one.request_id for one in table.pending()] == ["r3", "r4"]
    assert table.answer("a", "r1", "allow", None, "ada") == Discarded("r1")


def test_headless_policy_and_end_of_turn_resolve_like_an_answer() -> None:
    table = PendingRequests()
    table.open(ask("r1"))
    table.open(ask("r2"))
    settled = table.settle("r1", Deny(reason="nobody is attached", by="headless"), "headless")
    withdrawn = table.withdraw("r2", "the turn was interrupted")
    assert isinstance(settled, Resolved)
    assert isinstance(withdrawn, Resolved)
    assert (settled.state, withdrawn.state) == ("settled", "withdrawn")
    assert table.settle("r1", Allow(), "headless") == table.withdraw("r1", "") == Discarded("r1")


def test_pending_shows_an_agent_its_own_requests_oldest_first(requests: PendingRequests) -> None:
    requests.open(ask("s", agent_id="b"))
    requests.open(ask("t"))
    assert [one.request_id for one in requests.pending("a")] == ["r", "t"]
    assert [one.request_id for one in requests.pending()] == ["r", "s", "t"]


def test_opening_an_open_request_again_is_a_fault_of_ours(requests: PendingRequests) -> None:
    with pytest.raises(IllegalTransition):
        requests.open(ask())


def test_only_an_open_request_has_a_way_on() -> None:
    assert {state for state, _ in TRANSITIONS} == {"open"}
    assert len(set(TRANSITIONS.values())) == 4
    assert "open" not in TRANSITIONS.values()


class RequestMachine(RuleBasedStateMachine):
    """Any order of openings, answers and endings, against the simplest model: a dict."""

    issued = Bundle("issued")

    def __init__(self) -> None:
        super().__init__()
        self.table = PendingRequests()
        self.open: dict[str, tuple[str, float | None]] = {}
        self.resolved: list[str] = []
        self.count = 0
        self.now = 0.0

    @rule(
        target=issued,
        agent_id=st.sampled_from("ab"),
        wait=st.none() | st.integers(0, 5).map(float),
    )
    def open_request(self, agent_id: str, wait: float | None) -> str:
        self.count += 1
        request_id = f"r{self.count}"
        deadline = None if wait is None else self.now + wait
        self.table.open(ask(request_id, agent_id), deadline=deadline)
        self.open[request_id] = (agent_id, deadline)
        return request_id

    @rule(
        request_id=issued,
        agent_id=st.sampled_from("abc"),
        decision=st.sampled_from(["allow", "allow_always", "deny"]),
        offered=st.sampled_from([NARROW, Rule(effect="allow"), None]),
    )
    def answer(
        self,
        request_id: str,
        agent_id: str,
        decision: Literal["allow", "allow_always", "deny"],
        offered: Rule | None,
    ) -> None:
        outcome = self.table.answer(agent_id, request_id, decision, offered, "ada")
        if self.open.get(request_id, ("", None))[0] != agent_id:
            assert outcome == Discarded(request_id)
        elif decision == "allow_always" and offered != NARROW:
            assert outcome == RuleRefused(request_id)
        else:
            self.note(outcome, request_id)
            assert isinstance(outcome, Resolved)
            assert outcome.decision.kind == decision

    @rule(request_id=issued, withdraw=st.booleans())
    def end(self, request_id: str, withdraw: bool) -> None:
        outcome = (
            self.table.withdraw(request_id, "over")
            if withdraw
            else self.table.settle(request_id, Allow(), "policy")
        )
        if request_id in self.open:
            self.note(outcome, request_id)
        else:
            assert outcome == Discarded(request_id)

    @rule(request_id=consumes(issued))
    def forget(self, request_id: str) -> None:
        """Answers to it stop; it may stay open for ever."""

    @rule(passed=st.integers(0, 3))
    def pass_time(self, passed: int) -> None:
        self.now += passed
        due = [key for key, (_, at) in self.open.items() if at is not None and at <= self.now]
        ended = self.table.expire(self.now)
        assert [one.request.request_id for one in ended] == due
        for one in ended:
            self.note(one, one.request.request_id)

    def note(self, outcome: object, request_id: str) -> None:
        assert isinstance(outcome, Resolved)
        assert outcome.request.request_id == request_id
        del self.open[request_id]
        self.resolved.append(request_id)

    @invariant()
    def table_holds_exactly_what_is_open(self) -> None:
        assert [one.request_id for one in self.table.pending()] == list(self.open)

    @invariant()
    def nothing_is_resolved_twice(self) -> None:
        assert len(set(self.resolved)) == len(self.resolved)


TestRequestMachine = RequestMachine.TestCase
TestRequestMachine.settings = settings(deadline=None)
