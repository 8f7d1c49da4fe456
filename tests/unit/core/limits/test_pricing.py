"""Cost of a call: exact where all is known, None where anything is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shard_jupyter.core.limits.pricing import Price, cost_usd
from shard_jupyter.types.usage import TokenUsage

pytestmark = pytest.mark.proves("B12")
PRICE = Price(
    input_usd_per_million=2.0, output_usd_per_million=10.0, cache_read_usd_per_million=0.5
)


def test_cached_input_has_its_own_price() -> None:
    tokens = TokenUsage(input_tokens=1_000_000, output_tokens=100_000, cache_read_tokens=400_000)
    assert cost_usd(tokens, PRICE) == pytest.approx(0.6 * 2 + 0.4 * 0.5 + 0.1 * 10)


def test_cached_input_without_a_price_costs_as_other_input() -> None:
    tokens = TokenUsage(input_tokens=1_000_000, output_tokens=0, cache_read_tokens=400_000)
    price = Price(input_usd_per_million=2.0, output_usd_per_million=10.0)
    assert cost_usd(tokens, price) == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("tokens", "price"),
    [
        (TokenUsage(input_tokens=1, output_tokens=1), None),
        (TokenUsage(input_tokens=None, output_tokens=1), PRICE),
        (TokenUsage(input_tokens=1, output_tokens=None), PRICE),
        (TokenUsage(), PRICE),
        (TokenUsage(input_tokens=1, output_tokens=1), Price(input_usd_per_million=1.0)),
        (TokenUsage(input_tokens=1, output_tokens=1), Price(output_usd_per_million=1.0)),
    ],
)
def test_what_is_not_known_is_none_and_never_zero(tokens: TokenUsage, price: Price | None) -> None:
    assert cost_usd(tokens, price) is None


def test_a_price_of_zero_is_a_known_cost() -> None:
    free = Price(input_usd_per_million=0.0, output_usd_per_million=0.0)
    assert cost_usd(TokenUsage(input_tokens=10, output_tokens=10), free) == 0.0
    assert free.is_complete


def test_a_missing_price_of_nothing_does_no_harm() -> None:
    tokens = TokenUsage(input_tokens=1_000_000, output_tokens=0)
    assert cost_usd(tokens, Price(input_usd_per_million=3.0)) == pytest.approx(3.0)


@given(st.integers(0, 10**9), st.integers(0, 10**9), st.integers(0, 2 * 10**9))
def test_a_cost_is_never_negative_whatever_a_server_reports(
    input_tokens: int, output_tokens: int, cached: int
) -> None:
    tokens = TokenUsage(
        input_tokens=input_tokens, output_tokens=output_tokens, cache_read_tokens=cached
    )
    cost = cost_usd(tokens, PRICE)
    assert cost is not None
    assert 0 <= cost <= (input_tokens * 2 + output_tokens * 10) / 1e6 + 1e-9
