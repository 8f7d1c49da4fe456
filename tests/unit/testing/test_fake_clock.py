"""The clock that only tests move, and the real one."""

from __future__ import annotations

from datetime import UTC, timedelta

import anyio
import pytest

from shard_jupyter.contracts.clock import Clock
from shard_jupyter.core.system_clock import SystemClock
from shard_jupyter.testing.fake_clock import FakeClock

pytestmark = pytest.mark.proves("A13")


@pytest.mark.parametrize("clock", [FakeClock(), FakeClock(runs_ahead=True), SystemClock()])
async def test_every_clock_tells_utc_and_never_goes_back(clock: Clock) -> None:
    first = clock.monotonic()
    with anyio.fail_after(5):
        await clock.sleep(0)
    assert clock.monotonic() >= first
    assert clock.now().tzinfo is UTC


async def test_sleepers_wake_in_the_order_of_their_time() -> None:
    clock = FakeClock()
    woken: list[int] = []

    async def sleep(seconds: int) -> None:
        await clock.sleep(seconds)
        woken.append(seconds)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            for seconds in (3, 1, 2, 9):
                tasks.start_soon(sleep, seconds)
            await clock.wait_for_sleeps(4)
            assert woken == []
            clock.advance(3)
            await anyio.wait_all_tasks_blocked()
            assert woken == [1, 2, 3]
            clock.advance(6)
    assert woken == [1, 2, 3, 9]


async def test_clock_that_runs_ahead_never_waits() -> None:
    clock = FakeClock(runs_ahead=True)
    before = clock.now()
    with anyio.fail_after(5):
        await clock.sleep(86400)
    assert clock.now() - before == timedelta(days=1)
    assert clock.slept == [86400]


async def test_cancelled_sleeper_is_forgotten() -> None:
    clock = FakeClock()
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(clock.sleep, 5)
            await clock.wait_for_sleeps(1)
            tasks.cancel_scope.cancel()
    clock.advance(10)
    assert clock.monotonic() == 10
