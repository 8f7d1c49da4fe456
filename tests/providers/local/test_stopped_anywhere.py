"""A request that is stopped at any of its awaits: nothing hangs, nothing is held, the next works."""

from __future__ import annotations

import asyncio
import types
from collections.abc import Callable, Coroutine, Generator
from contextlib import suppress
from typing import Any

import anyio
import pytest

from shard_jupyter.contracts.provider import Answered, Failed
from tests.fakes.local_server import FakeServers, Reply, local_server, write_answer
from tests.local_asking import HEADER, LARGE, Heard, ask, make_provider

pytestmark = pytest.mark.proves("A13", "C10")
FULL = Reply(status=400, body={"error": {"type": "exceed_context_size_error", "message": "full"}})


@types.coroutine
def stopped_at(
    place: int, work: Coroutine[Any, Any, Heard], stop: Callable[[], object]
) -> Generator[Any, Any, Heard]:
    """Do `work`; call `stop` when it waits for the time `place`."""
    steps = work.__await__()
    send: Callable[[], Any] = lambda: steps.send(None)
    count = 0
    while True:
        try:
            waits_for = send()
        except StopIteration as end:
            heard: Heard = end.value
            return heard
        if count == place:
            stop()
        count += 1
        try:
            value = yield waits_for
        except BaseException as error:  # noqa: BLE001 - handed on to where it belongs
            raised = error
            send = lambda: steps.throw(raised)  # noqa: B023 - called before the next turn
        else:
            send = lambda: steps.send(value)  # noqa: B023 - called before the next turn


async def stop_one(header: str, place: int, how: str, prompt: str) -> bool:
    """Return whether the request was stopped; False when it was over before."""
    shape = HEADER if header == "tiny" else LARGE
    answer = write_answer("one two three") if header == "tiny" else Reply("one two three")
    replies = [FULL, answer] if len(prompt) > 9 else [answer]
    is_stopped = False
    async with local_server(*replies, answer) as server:
        servers = FakeServers([server.running()], says=("Loading",))
        provider = await make_provider(servers, shape)
        closing: list[asyncio.Task[None]] = []

        def stop() -> None:
            nonlocal is_stopped
            is_stopped = True
            if how == "cancel":
                asking.cancel()
            else:
                closing.append(asyncio.ensure_future(provider.aclose()))

        async def begin() -> Heard:
            return await stopped_at(place, ask(provider, prompt), stop)

        asking = asyncio.ensure_future(begin())
        heard = None
        with suppress(asyncio.CancelledError):
            heard = await asking
        if how == "cancel" and is_stopped:
            heard = await ask(provider, prompt)
            assert isinstance(heard.last, Answered), heard.last
        elif is_stopped:
            assert heard is not None
            assert isinstance(heard.last, (Answered, Failed))
        await asyncio.gather(*closing)
        await provider.aclose()
    assert [lease.released for lease in servers.leases] == [1] * len(servers.leases)
    others = asyncio.all_tasks() - {asyncio.current_task()}
    assert not [task for task in others if "acquire" in repr(task)]
    return is_stopped


@pytest.mark.parametrize("prompt", ["Hi", "0123456789" * 400])
@pytest.mark.parametrize("how", ["cancel", "close"])
@pytest.mark.parametrize("header", ["tiny", "large"])
async def test_a_request_may_be_stopped_at_every_await(header: str, how: str, prompt: str) -> None:
    if header == "large" and len(prompt) > 9:
        prompt = "Ho"
    place = 0
    while True:
        with anyio.fail_after(20):
            if not await stop_one(header, place, how, prompt):
                break
        place += 1
    assert place > 3
