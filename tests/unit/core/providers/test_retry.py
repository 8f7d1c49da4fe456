"""When a failed call is made again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shard_jupyter.contracts.provider import ProviderFailure
from shard_jupyter.core.providers.retry import (
    GiveUp,
    RetryAfter,
    RetryPolicy,
    RetryState,
    next_delay,
)

pytestmark = pytest.mark.proves("A13", "H4d.41")
POLICY = RetryPolicy()


def failure(*, retryable: bool = True, wait: float | None = None) -> ProviderFailure:
    return ProviderFailure(
        kind="overloaded", message="x", retryable=retryable, retry_after_seconds=wait
    )


@pytest.mark.parametrize(
    ("attempts", "failed", "decision"),
    [
        (1, failure(), RetryAfter(1)),
        (2, failure(), RetryAfter(2)),
        (3, failure(), RetryAfter(4)),
        (4, failure(), RetryAfter(8)),
        (5, failure(), GiveUp("attempts")),
        (1, failure(wait=0), RetryAfter(0)),
        (1, failure(wait=3), RetryAfter(3)),
        (3, failure(wait=59), RetryAfter(59)),
        (1, failure(wait=60), RetryAfter(60)),
        (1, failure(wait=60.5), GiveUp("wait_too_long")),
        (1, failure(wait=86400), GiveUp("wait_too_long")),
        (5, failure(wait=3), GiveUp("attempts")),
        (5, failure(wait=86400), GiveUp("wait_too_long")),
        (1, failure(retryable=False), GiveUp("not_retryable")),
        (1, failure(retryable=False, wait=3), GiveUp("not_retryable")),
    ],
)
def test_decision(attempts: int, failed: ProviderFailure, decision: object) -> None:
    assert next_delay(RetryState(attempts), failed, POLICY) == decision


@given(
    st.integers(1, 1000),
    st.integers(1, 50),
    st.none() | st.floats(0, 1e9),
)
def test_no_wait_is_longer_than_the_policy_allows(
    attempts: int, most: int, wait: float | None
) -> None:
    policy = RetryPolicy(max_attempts=most)
    decision = next_delay(RetryState(attempts), failure(wait=wait), policy)
    if isinstance(decision, RetryAfter):
        assert attempts < most
        assert 0 <= decision.delay_seconds <= policy.longest_obeyed_seconds
        assert wait is None or decision.delay_seconds == wait
