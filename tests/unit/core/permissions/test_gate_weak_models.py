"""The gate and calls that are trusted less: of a weak model, and read from a model's text."""

from __future__ import annotations

from itertools import product

import pytest

from shard_jupyter.contracts.permission_gate import GateRequest, Offer
from shard_jupyter.core.permissions.grants import GrantTable
from shard_jupyter.core.permissions.headless_policy import settle_without_person
from shard_jupyter.types.decisions import Ask, Rule
from tests.unit.core.permissions.test_gate import ALLOW, ASK, DENY, make_gate, request

pytestmark = pytest.mark.proves("A06")
WEAK = "the model is small, so each call is asked"
FROM_TEXT = "it was read from the model's text, not from a call"


def weak(*args: str, **options: str) -> GateRequest:
    return request(*args, **options).model_copy(update={"use_mode_allowance": False})


def recovered(*args: str, **options: str) -> GateRequest:
    return request(*args, **options).model_copy(update={"is_recovered": True})


def granted() -> GrantTable:
    grants = GrantTable()
    grants.give(ALLOW, by="me", timestamp="")
    return grants


@pytest.mark.parametrize(("tool", "mode"), list(product(["read", "write"], ["build", "odd"])))
def test_a_weak_model_gets_nothing_from_the_mode_and_the_question_says_why(
    tool: str, mode: str
) -> None:
    decision = make_gate().judge(weak(tool, mode=mode))
    assert (decision.kind, decision.why) == ("ask", WEAK)


def test_what_a_person_allowed_counts_for_a_weak_model_too() -> None:
    assert make_gate(ALLOW).judge(weak()).kind == "allow"
    assert make_gate(grants=granted()).judge(weak()).kind == "allow"
    offer = make_gate().offer(weak())
    assert [rule.path for rule in offer.rules] == ["a.py"]


def test_what_forbids_or_asks_holds_for_a_weak_model_as_for_any() -> None:
    assert make_gate(DENY).judge(weak()).kind == "deny"
    assert make_gate().judge(weak(mode="plan")).by == "mode"
    assert make_gate(ASK).judge(weak()).why.startswith("a rule asks")
    without = weak().model_copy(update={"use_allow_rules": False})
    assert make_gate(ALLOW).judge(without).kind == "ask"


@pytest.mark.parametrize("tool", ["read", "write"])
@pytest.mark.parametrize("mode", ["build", "odd"])
@pytest.mark.parametrize("rules", [(), (ALLOW,), (ASK,), (ALLOW, ASK)])
@pytest.mark.parametrize("has_grant", [False, True])
def test_a_call_read_from_text_is_asked_against_every_allowance(
    tool: str, mode: str, rules: tuple[Rule, ...], has_grant: bool
) -> None:
    gate = make_gate(*rules, grants=granted() if has_grant else None)
    decision = gate.judge(recovered(tool, mode=mode))
    assert (decision.kind, decision.why) == ("ask", FROM_TEXT)
    offer = gate.offer(recovered(tool, mode=mode))
    assert (offer.rules, offer.would_allow, offer.facts.rule) == ((), None, "")


def test_a_deny_rule_and_a_veto_go_before_the_question() -> None:
    assert make_gate(DENY, ALLOW).judge(recovered()).kind == "deny"
    vetoed = make_gate(ALLOW).judge(recovered(mode="plan"))
    assert (vetoed.kind, vetoed.by) == ("deny", "mode")


def test_a_yes_covers_the_same_recovered_call_again_but_no_real_one() -> None:
    gate = make_gate()
    first = gate.judge(recovered())
    assert gate.judge(recovered()).covers == first.covers
    others = [gate.judge(request()), gate.judge(weak()), gate.judge(recovered(path="b.py"))]
    assert len({first.covers, *(other.covers for other in others)}) == 4


@pytest.mark.parametrize("setting", ["yes", "rules", "recorded", "deny"])
def test_without_a_person_no_setting_allows_a_recovered_call(setting: str) -> None:
    ask = Ask(prompt="?", request_id="r", why=FROM_TEXT)
    denial = settle_without_person(setting, ask, Offer(), is_recovered=True)
    assert (denial.kind, denial.by, denial.would_allow) == ("deny", "headless", "")
    if setting == "yes":
        assert denial.reason == (
            f"Nobody has looked at it, and {FROM_TEXT}: ask=yes does not allow such a call."
        )
