"""The transition table of a turn, as a machine and row by row."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from shard_jupyter.core import turn_state as ts
from shard_jupyter.errors import IllegalTransition
from shard_jupyter.types.content import ToolCallBlock
from shard_jupyter.types.turns import ErrorInfo

pytestmark = pytest.mark.proves("A03")

FAULT = ErrorInfo(code="x", message="x")


def make_call(name: str, error: str = "") -> ToolCallBlock:
    return ToolCallBlock(call_id=name, name="bash", arguments_error=error)


def start(max_rounds: int = 200) -> ts.TurnState:
    return ts.step(ts.TurnState("t", max_rounds=max_rounds), ts.Started())[0]


def test_a_turn_asks_the_model_first() -> None:
    state, todo = ts.step(ts.TurnState("t"), ts.Started())
    assert (state.phase, todo) == (ts.Phase.ASKING, (ts.AskModel(),))


def test_an_answer_without_calls_ends_the_turn() -> None:
    state, todo = ts.step(start(), ts.AnswerArrived((), "end"))
    assert state.outcome == "completed"
    assert todo == (ts.EndTurn("completed"),)


def test_a_steer_that_came_while_the_model_wrote_keeps_the_turn_going() -> None:
    state, todo = ts.step(start(), ts.AnswerArrived((), "end", steers_waiting=True))
    assert (state.phase, todo) == (ts.Phase.ASKING, (ts.AskModel(),))


def test_calls_are_judged_together_and_run_in_order() -> None:
    a, b = make_call("a"), make_call("b")
    state, todo = ts.step(start(), ts.AnswerArrived((a, b), "tool_calls"))
    assert todo == (ts.JudgeCalls((a, b)), ts.RunCall(a))
    state, todo = ts.step(state, ts.CallClosed("a"))
    assert todo == (ts.RunCall(b),)
    state, todo = ts.step(state, ts.CallClosed("b"))
    assert (state.phase, todo) == (ts.Phase.ASKING, (ts.AskModel(),))


def test_calls_count_even_when_the_stop_reason_says_end() -> None:
    a = make_call("a")
    _, todo = ts.step(start(), ts.AnswerArrived((a,), "end"))
    assert ts.RunCall(a) in todo


def test_an_abort_closes_every_open_call_before_it_ends_the_turn() -> None:
    a, b = make_call("a"), make_call("b")
    state, _ = ts.step(start(), ts.AnswerArrived((a, b), "tool_calls"))
    state, todo = ts.step(state, ts.Aborted("interrupted"))
    assert [type(i).__name__ for i in todo] == ["CloseCall", "CloseCall", "EndTurn"]
    assert {i.text.partition(":")[0] for i in todo[:2]} == {"interrupted"}
    assert state.outcome == "interrupted"


@pytest.mark.parametrize(
    ("stop_reason", "outcome", "code"),
    [("length", "limit_reached", "output_limit"), ("refusal", "failed", "refused")],
)
def test_a_cut_or_refused_answer_is_no_success(stop_reason, outcome, code) -> None:
    state, todo = ts.step(start(), ts.AnswerArrived((), stop_reason))
    assert state.outcome == outcome
    assert todo[-1].error.code == code


@pytest.mark.proves("H4d.43")
def test_the_third_answer_in_a_row_with_unreadable_calls_ends_the_turn() -> None:
    state = start()
    for attempt in range(3):
        call = make_call(f"c{attempt}", "cut off")
        state, todo = ts.step(state, ts.AnswerArrived((call,), "length"))
        assert (state.outcome == "failed") is (attempt == 2)
        if attempt < 2:
            state, _ = ts.step(state, ts.CallClosed(call.call_id))
    assert todo[-1].error.code == "unreadable_arguments"
    assert isinstance(todo[0], ts.CloseCall)


def test_a_readable_call_resets_the_count_of_unreadable_ones() -> None:
    state = start()
    for name, error in [("a", "x"), ("b", "x"), ("c", ""), ("d", "x"), ("e", "x")]:
        state, _ = ts.step(state, ts.AnswerArrived((make_call(name, error),), "tool_calls"))
        assert state.outcome is None
        state, _ = ts.step(state, ts.CallClosed(name))


def test_the_round_limit_ends_the_turn_with_its_calls_closed() -> None:
    state, todo = ts.step(start(max_rounds=1), ts.AnswerArrived((make_call("a"),), "tool_calls"))
    assert state.outcome == "limit_reached"
    assert [type(i).__name__ for i in todo] == ["CloseCall", "EndTurn"]


def test_every_pair_of_phase_and_event_is_listed_or_refused() -> None:
    examples = [
        ts.Started(),
        ts.AnswerArrived((), "end"),
        ts.AnswerFailed(FAULT),
        ts.CallClosed("a"),
        ts.LimitHit(FAULT),
        ts.Aborted("interrupted"),
    ]
    assert {type(e) for e in examples} == set(ts.TurnEvent.__args__)
    for phase, event in product(ts.Phase, examples):
        open_calls = (make_call("a"),) if phase is ts.Phase.RUNNING else ()
        state = ts.TurnState("t", phase=phase, open_calls=open_calls)
        if (phase, type(event)) in ts.TRANSITIONS:
            ts.step(state, event)
        else:
            with pytest.raises(IllegalTransition):
                ts.step(state, event)


def test_an_illegal_event_tells_the_story_of_the_turn() -> None:
    state, _ = ts.step(start(), ts.AnswerArrived((), "end"))
    with pytest.raises(IllegalTransition, match="asking --AnswerArrived--> ended"):
        ts.step(state, ts.Started())


class TurnMachine(RuleBasedStateMachine):
    """Any order of legal events: each call is closed exactly once, and an end is an end."""

    @initialize(rounds=st.integers(1, 6))
    def begin(self, rounds: int) -> None:
        self.state = ts.TurnState("t", max_rounds=rounds)
        self.asked: list[str] = []
        self.closed: list[str] = []
        self.ends = 0
        self.serial = 0
        self.apply(ts.Started())

    def apply(self, event: ts.TurnEvent) -> None:
        self.state, todo = ts.step(self.state, event)
        for instruction in todo:
            match instruction:
                case ts.JudgeCalls(calls):
                    self.asked += [call.call_id for call in calls]
                case ts.CloseCall(call):
                    if call.call_id not in self.asked:
                        self.asked.append(call.call_id)
                    self.closed.append(call.call_id)
                case ts.EndTurn():
                    self.ends += 1

    @precondition(lambda self: self.state.phase is ts.Phase.ASKING)
    @rule(n=st.integers(0, 3), bad=st.booleans(), steer=st.booleans())
    def answer(self, n: int, bad: bool, steer: bool) -> None:
        calls = tuple(make_call(f"c{self.serial + i}", "bad" if bad else "") for i in range(n))
        self.serial += n
        self.apply(ts.AnswerArrived(calls, "end", steers_waiting=steer))

    @precondition(lambda self: self.state.phase is ts.Phase.RUNNING)
    @rule()
    def finish_call(self) -> None:
        call_id = self.state.open_calls[0].call_id
        self.closed.append(call_id)
        self.apply(ts.CallClosed(call_id))

    @precondition(lambda self: self.state.phase in (ts.Phase.ASKING, ts.Phase.RUNNING))
    @rule(event=st.sampled_from([ts.Aborted("interrupted"), ts.LimitHit(FAULT)]))
    def stop(self, event: ts.TurnEvent) -> None:
        self.apply(event)

    @precondition(lambda self: self.state.phase is ts.Phase.ASKING)
    @rule()
    def fail(self) -> None:
        self.apply(ts.AnswerFailed(FAULT))

    @precondition(lambda self: self.state.phase is ts.Phase.ENDED)
    @rule(event=st.sampled_from([ts.Started(), ts.Aborted("cancelled"), ts.CallClosed("c0")]))
    def nothing_happens_after_the_end(self, event: ts.TurnEvent) -> None:
        with pytest.raises(IllegalTransition):
            ts.step(self.state, event)

    @invariant()
    def each_call_is_closed_at_most_once(self) -> None:
        if hasattr(self, "state"):
            assert len(set(self.closed)) == len(self.closed)

    @invariant()
    def an_ended_turn_has_no_open_call_and_one_end(self) -> None:
        if hasattr(self, "state") and self.state.phase is ts.Phase.ENDED:
            assert self.ends == 1
            assert sorted(self.asked) == sorted(self.closed)


TestTurnMachine = TurnMachine.TestCase
TestTurnMachine.settings = settings(max_examples=60, deadline=None)
