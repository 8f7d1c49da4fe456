"""Whether and when a failed model call is made again. Pure.

The only retry layer there is: SDKs and providers never retry (harness §4d, rows 40 and 41).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from shard_jupyter.contracts.provider import ProviderFailure


@dataclass(frozen=True)
class RetryPolicy:
    """Delays are exact, without chance, so that a run can be told from its log.

    Attributes:
        max_attempts: calls in all, the first one included.
        longest_obeyed_seconds: a server that asks to wait longer is not waited for.
    """

    max_attempts: int = 5
    first_delay_seconds: float = 1.0
    factor: float = 2.0
    longest_delay_seconds: float = 30.0
    longest_obeyed_seconds: float = 60.0


@dataclass(frozen=True)
class RetryState:
    """`attempts`: calls made so far, all failed."""

    attempts: int


@dataclass(frozen=True)
class RetryAfter:
    delay_seconds: float


@dataclass(frozen=True)
class GiveUp:
    why: Literal["not_retryable", "attempts", "wait_too_long"]


RetryDecision = RetryAfter | GiveUp


def next_delay(state: RetryState, failure: ProviderFailure, policy: RetryPolicy) -> RetryDecision:
    """Decide after a failure. What the server asks for counts more than the own schedule."""
    if not failure.retryable:
        return GiveUp("not_retryable")
    asked = failure.retry_after_seconds
    if asked is not None and asked > policy.longest_obeyed_seconds:
        return GiveUp("wait_too_long")
    if state.attempts >= policy.max_attempts:
        return GiveUp("attempts")
    if asked is not None:
        return RetryAfter(asked)
    delay = policy.first_delay_seconds * policy.factor ** max(0, state.attempts - 1)
    return RetryAfter(min(delay, policy.longest_delay_seconds))
