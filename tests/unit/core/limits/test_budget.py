"""Budgets as people write them, and when they are used up."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shard_jupyter.core.limits.budget import Budget, find_exceeded, parse_budget
from shard_jupyter.errors import UsageError
from shard_jupyter.types.usage import UsageTotals

pytestmark = pytest.mark.proves("B12")


@pytest.mark.parametrize(
    ("text", "budget"),
    [
        ("200k", Budget(tokens=200_000)),
        ("1.5M", Budget(tokens=1_500_000)),
        ("1.5m", Budget(tokens=1_500_000)),
        (" 40000 ", Budget(tokens=40_000)),
        ("0.001k", Budget(tokens=1)),
        ("$1.50", Budget(usd=1.5)),
        ("$2", Budget(usd=2.0)),
    ],
)
def test_tokens_and_dollars_are_told_apart(text: str, budget: Budget) -> None:
    assert parse_budget(text) == budget


@pytest.mark.parametrize(
    "text",
    ["", "k", "$", "0", "0k", "$0", "$0.00", "-1", "-$1", "1.5", "1.2345k", "1e3", "$1e3", "1_000",
     "200 k", "200kk", "2G", "inf", "nan", "$inf", "٣k", "9" * 18 + "M", "1.50$", "10%", "$1,50",
     "200k\n5"],
)  # fmt: skip
def test_nonsense_is_refused_with_what_would_do(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_budget(text)
    assert "200k" in caught.value.next_step


@given(st.text(max_size=12))
def test_any_text_is_a_limit_above_zero_or_refused(text: str) -> None:
    try:
        budget = parse_budget(text)
    except UsageError:
        return
    assert [budget.tokens, budget.usd].count(None) == 1
    assert (budget.tokens or budget.usd or 0) > 0


@given(st.integers(1, 2**53 - 1))
def test_a_plain_number_is_that_number_of_tokens(tokens: int) -> None:
    assert parse_budget(str(tokens)) == Budget(tokens=tokens)


def test_input_and_output_count_against_the_budget() -> None:
    budget = Budget(tokens=100)
    assert find_exceeded(budget, UsageTotals(input_tokens=60, output_tokens=39)) is None
    found = find_exceeded(budget, UsageTotals(input_tokens=60, output_tokens=40))
    assert found == ("budget_tokens", "The budget of 100 tokens is used up: 100 were used.")


def test_money_counts_and_an_unknown_cost_is_not_taken_for_too_much() -> None:
    budget = Budget(usd=1.5)
    assert find_exceeded(budget, UsageTotals(cost_usd=None, input_tokens=10**9)) is None
    assert find_exceeded(budget, UsageTotals(cost_usd=1.49)) is None
    found = find_exceeded(budget, UsageTotals(cost_usd=1.5))
    assert found == ("budget_usd", "The budget of $1.5 is used up: $1.5000 were spent.")


def test_the_words_say_whose_budget_it_is() -> None:
    found = find_exceeded(Budget(tokens=1), UsageTotals(input_tokens=2), name="turn's budget")
    assert found == ("budget_tokens", "The turn's budget of 1 tokens is used up: 2 were used.")


def test_no_budget_is_never_used_up() -> None:
    totals = UsageTotals(input_tokens=10**12, cost_usd=10.0**6)
    assert find_exceeded(Budget(), totals) is None
