"""One model call from the turn loop's view: ask, and ask again while nothing came of it.

Nothing of a failed attempt is kept or run, so asking again is always safe (harness §4d, row 40).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime, timedelta

from shard_jupyter.contracts.clock import Clock
from shard_jupyter.contracts.provider import (
    Answered,
    ArgumentsDelta,
    Failed,
    Provider,
    ProviderFailure,
    ProviderNotice,
    ProviderRequest,
    TextDelta,
    ThinkingDelta,
)
from shard_jupyter.core.providers.retry import GiveUp, RetryPolicy, RetryState, next_delay
from shard_jupyter.errors import Bug

Delta = TextDelta | ThinkingDelta | ArgumentsDelta | ProviderNotice


@dataclass(frozen=True)
class Retry:
    """The attempt with this number failed and is void: deltas shown of it must be taken back."""

    attempt: int
    delay_seconds: float
    failure: ProviderFailure


@dataclass(frozen=True)
class Asked:
    """What a model call came to.

    Attributes:
        attempts: calls made, for the usage record.
        resets_at: when the server would answer again, if it asked for more than we wait.
    """

    outcome: Answered | Failed
    attempts: int
    resets_at: datetime | None = None


async def ask_model(
    provider: Provider,
    request: ProviderRequest,
    *,
    policy: RetryPolicy,
    clock: Clock,
    on_event: Callable[[Delta], None],
    on_retry: Callable[[Retry], None],
) -> Asked:
    """Ask until there is an answer or no use in asking again.

    `on_retry` is called before the wait. Cancellation ends the call or the wait at once and
    nothing is asked again.

    Raises:
        Bug: the provider ended without a last event.
    """
    attempts = 0
    while True:
        outcome = await _ask_once(provider, request, on_event)
        attempts += 1
        if isinstance(outcome, Answered):
            return Asked(outcome, attempts)
        decision = next_delay(RetryState(attempts), outcome.failure, policy)
        if isinstance(decision, GiveUp):
            return _give_up(decision, outcome, attempts, clock)
        on_retry(Retry(attempts, decision.delay_seconds, outcome.failure))
        await clock.sleep(decision.delay_seconds)


async def _ask_once(
    provider: Provider, request: ProviderRequest, on_event: Callable[[Delta], None]
) -> Answered | Failed:
    async with aclosing(provider.stream(request)) as events:
        async for event in events:
            if isinstance(event, (Answered, Failed)):
                return event
            on_event(event)
    raise Bug(f"the provider of {provider.route.model_id!r} ended without a last event")


def _give_up(decision: GiveUp, outcome: Failed, attempts: int, clock: Clock) -> Asked:
    seconds = outcome.failure.retry_after_seconds
    if decision.why != "wait_too_long" or seconds is None:
        return Asked(outcome, attempts)
    try:
        resets_at = clock.now() + timedelta(seconds=seconds)
    except OverflowError:  # a server may name any number
        return Asked(outcome, attempts)
    told = f"{outcome.failure.message}; the limit ends at {resets_at:%Y-%m-%d %H:%M} UTC"
    failure = outcome.failure.model_copy(update={"message": told})
    return Asked(Failed(failure=failure), attempts, resets_at)
