"""One model call with its retries, on a clock that only tests move."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import anyio
import pytest

from shard_jupyter.contracts.provider import (
    Answered,
    Failed,
    ProviderEvent,
    ProviderRequest,
)
from shard_jupyter.core.providers.asking import Asked, Retry, ask_model
from shard_jupyter.core.providers.retry import RetryPolicy
from shard_jupyter.errors import Bug
from shard_jupyter.testing.fake_clock import FakeClock
from shard_jupyter.testing.scripted_provider import ScriptedProvider, call, fail, hang, say
from shard_jupyter.types.messages import user_text

pytestmark = pytest.mark.proves("A13", "H4d.40")
REQUEST = ProviderRequest(model="m", system="", messages=(user_text("hi"),))


class Seen:
    def __init__(self) -> None:
        self.story: list[str] = []

    def event(self, event: ProviderEvent) -> None:
        self.story.append(getattr(event, "text", ""))

    def retry(self, retry: Retry) -> None:
        self.story.append(
            f"<retry {retry.attempt} in {retry.delay_seconds:g}: {retry.failure.kind}>"
        )


async def ask(provider: ScriptedProvider, clock: FakeClock, seen: Seen) -> Asked:
    return await ask_model(
        provider,
        REQUEST,
        policy=RetryPolicy(),
        clock=clock,
        on_event=seen.event,
        on_retry=seen.retry,
    )


async def test_retry_is_told_between_the_void_deltas_and_the_new_ones() -> None:
    provider = ScriptedProvider([say("half") + fail("cut"), fail("overloaded"), say("whole")])
    seen = Seen()
    with anyio.fail_after(5):
        asked = await ask(provider, FakeClock(runs_ahead=True), seen)
    assert isinstance(asked.outcome, Answered)
    assert seen.story == ["half", "<retry 1 in 1: cut>", "<retry 2 in 2: overloaded>", "whole"]
    assert asked.attempts == len(provider.requests) == 3
    assert provider.requests == [REQUEST] * 3


async def test_calls_of_a_failed_attempt_are_never_in_the_answer() -> None:
    provider = ScriptedProvider([call("rm", path="/") + fail("cut"), call("read", path="a")])
    with anyio.fail_after(5):
        asked = await ask(provider, FakeClock(runs_ahead=True), Seen())
    assert isinstance(asked.outcome, Answered)
    assert [block.name for block in asked.outcome.message.tool_calls] == ["read"]


@pytest.mark.parametrize("kind", ["auth", "bad_request", "context_full", "mismatch", "refused"])
async def test_failure_that_would_come_again_is_returned_at_once(kind: str) -> None:
    provider = ScriptedProvider([fail(kind)])  # type: ignore[arg-type]
    clock = FakeClock(runs_ahead=True)
    with anyio.fail_after(5):
        asked = await ask(provider, clock, Seen())
    assert isinstance(asked.outcome, Failed)
    assert (asked.attempts, clock.slept) == (1, [])


async def test_cancelling_the_wait_asks_nothing_again() -> None:
    provider = ScriptedProvider([fail("overloaded"), say("never")])
    clock = FakeClock()
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask, provider, clock, Seen())
            await clock.wait_for_sleeps(1)
            tasks.cancel_scope.cancel()
    clock.advance(100)
    assert len(provider.requests) == 1


async def test_cancelling_the_call_asks_nothing_again() -> None:
    provider = ScriptedProvider([say("half") + hang(), say("never")])
    clock = FakeClock()
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask, provider, clock, Seen())
            await provider.wait_until_hanging()
            tasks.cancel_scope.cancel()
    assert (len(provider.requests), clock.slept) == (1, [])


async def test_absurd_wait_is_given_up_without_a_date() -> None:
    provider = ScriptedProvider([fail("rate_limit", retry_after_seconds=1e15)])
    with anyio.fail_after(5):
        asked = await ask(provider, FakeClock(), Seen())
    assert isinstance(asked.outcome, Failed)
    assert asked.resets_at is None


async def test_provider_without_a_last_event_is_a_bug() -> None:
    class Broken(ScriptedProvider):
        async def stream(self, request: ProviderRequest) -> AsyncGenerator[ProviderEvent, None]:
            for event in ():
                yield event

    with pytest.raises(Bug, match="without a last event"):
        await ask(Broken([]), FakeClock(), Seen())
