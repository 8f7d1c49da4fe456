"""Items come from threads and signal handlers; none is lost, the order is kept, waits end."""

from __future__ import annotations

import asyncio
import contextvars
import signal
import threading

import anyio
import pytest

from shard_jupyter.surfaces.magics.cells.inbox import Ended, Inbox
from shard_jupyter.surfaces.magics.cells.interrupts import InterruptGuard

pytestmark = pytest.mark.proves("D02")


async def take_all(inbox: Inbox, count: int) -> list[object]:
    taken: list[object] = []
    with anyio.fail_after(20):
        while len(taken) < count:
            taken.extend(await inbox.take())
    return taken


async def test_everything_that_threads_put_arrives_in_their_order() -> None:
    inbox = Inbox()
    threads = [
        threading.Thread(target=lambda mark=mark: [inbox.put((mark, n)) for n in range(3000)])
        for mark in range(4)
    ]
    for thread in threads:
        thread.start()
    taken = await take_all(inbox, 12_000)
    for mark in range(4):
        assert [item[1] for item in taken if item[0] == mark] == list(range(3000))  # type: ignore[index]
    assert await inbox.take(0.0) == ()
    for thread in threads:
        thread.join()


async def test_a_flood_leaves_the_loop_to_others() -> None:
    inbox = Inbox()
    for number in range(5000):
        inbox.put(number)
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    other = asyncio.create_task(count_turns())
    await take_all(inbox, 5000)
    other.cancel()
    assert turns >= 9


async def test_a_signal_wakes_a_quiet_wait_at_once() -> None:
    inbox = Inbox()
    with InterruptGuard(lambda: inbox.put("press")):
        timer = threading.Timer(0.05, signal.pthread_kill, (threading.main_thread().ident, 2))
        timer.start()
        with anyio.fail_after(5):
            assert await inbox.take() == ("press",)


async def test_a_wait_ends_in_time_and_can_be_cancelled() -> None:
    inbox = Inbox()
    assert await inbox.take(0.01) == ()
    waiting = asyncio.create_task(inbox.take())
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    inbox.put("later")
    assert await inbox.take(1) == ("later",)


async def test_a_call_in_a_thread_comes_back_with_its_value_or_error_and_its_context() -> None:
    inbox = Inbox()
    variable = contextvars.ContextVar("variable", default="none")
    variable.set("of the cell")
    thread = inbox.start("value", variable.get)
    assert thread.daemon
    assert await take_all(inbox, 1) == [Ended("value", value="of the cell")]
    inbox.start("error", lambda: 1 / 0)
    (ended,) = await take_all(inbox, 1)
    assert isinstance(ended, Ended)
    assert isinstance(ended.error, ZeroDivisionError)


def test_what_comes_after_the_loop_has_closed_is_nobodys_business() -> None:
    async def make() -> Inbox:
        return Inbox()

    asyncio.run(make()).put("late")
