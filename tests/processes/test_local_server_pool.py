"""Servers are shared, counted, started anew after a crash, and stopped with their last user."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from pathlib import Path
from typing import Any

import anyio
import anyio.from_thread
import anyio.to_thread
import httpx2
import psutil
import pytest

from shard_jupyter.capabilities.local_models.servers.managed_server import StartLimits
from shard_jupyter.capabilities.local_models.servers.server_pool import PoolLease, ServerPool
from shard_jupyter.capabilities.local_models.servers.server_spec import RunningServer, ServerSpec
from shard_jupyter.errors import Bug, UserError
from tests.child_watch import children, new_children
from tests.fakes.fake_engine import FakeEngine, ignore, make_spec, places_in, pool_of

pytestmark = [pytest.mark.proves("A13", "L5.lease"), pytest.mark.usefixtures("nothing_left")]
LIMIT = 40.0


async def take(pool: ServerPool, folder: Path, **spec: Any) -> PoolLease:
    return await pool.acquire(make_spec(folder, **spec), ignore, places=places_in(folder))


async def ask(server: RunningServer, path: str = "/props", **body: Any) -> httpx2.Response:
    headers = {"Authorization": f"Bearer {server.api_key}"}
    async with httpx2.AsyncClient(base_url=server.base_url, trust_env=False) as client:
        if body:
            return await client.post(path, headers=headers, json=body)
        return await client.get(path, headers=headers)


async def test_all_who_want_the_same_share_one_server_until_the_last_is_done(
    tmp_path: Path,
) -> None:
    pool = pool_of(FakeEngine())
    leases: list[PoolLease] = []

    async def take_one() -> None:
        leases.append(await take(pool, tmp_path))

    with anyio.fail_after(LIMIT):
        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(take_one)
        assert len({lease.server_pid for lease in leases}) == 1
        *others, last = leases
        for lease in others:
            await lease.release()
            await lease.release()  # a second time changes nothing
        assert await last.is_up()
        assert (await ask(last.server)).status_code == 200
        await last.release()
    assert not psutil.pid_exists(last.server_pid)
    assert list((tmp_path / "state/models/servers").iterdir()) == []


async def test_another_model_or_context_has_a_server_of_its_own(tmp_path: Path) -> None:
    pool = pool_of(FakeEngine())
    with anyio.fail_after(LIMIT):
        first = await take(pool, tmp_path)
        second = await take(pool, tmp_path, name="other.gguf")
        third = await take(pool, tmp_path, context_tokens=1024)
        assert len({lease.server_pid for lease in (first, second, third)}) == 3
        assert len({lease.server.base_url for lease in (first, second, third)}) == 3
        assert len({lease.server.api_key for lease in (first, second, third)}) == 3
        for lease in (first, second, third):
            await lease.release()


async def test_a_server_that_crashed_is_reaped_and_started_anew(tmp_path: Path) -> None:
    engine = FakeEngine(dies_when_asked=True)
    pool = pool_of(engine)
    with anyio.fail_after(LIMIT):
        dead = await take(pool, tmp_path)
        with pytest.raises(httpx2.TransportError):
            await ask(dead.server, "/completion", prompt="a")
        while psutil.pid_exists(dead.server_pid):  # nobody asks, and yet it is reaped
            await anyio.sleep(0.01)
        assert not await dead.is_up()
        engine.fault = {}
        new = await take(pool, tmp_path)
        assert (await ask(new.server)).status_code == 200
        await dead.release()
        assert await new.is_up()
        await new.release()


async def test_a_server_that_runs_and_hangs_up_on_everybody_is_replaced(tmp_path: Path) -> None:
    """As one does that was killed by its own fault and whose end takes a while."""
    engine = FakeEngine(deaf_when_asked=True)
    pool = pool_of(engine)
    with anyio.fail_after(LIMIT):
        deaf = await take(pool, tmp_path)
        with pytest.raises(httpx2.TransportError):
            await ask(deaf.server, "/completion", prompt="a")
        assert psutil.pid_exists(deaf.server_pid)
        assert not await deaf.is_up()
        engine.fault = {}
        new = await take(pool, tmp_path)
        assert not psutil.pid_exists(deaf.server_pid)
        assert (await ask(new.server)).status_code == 200
        for lease in (deaf, new):
            await lease.release()


async def test_who_gives_up_last_stops_the_start(tmp_path: Path) -> None:
    pool = pool_of(FakeEngine(hang=True))
    before = children()
    with anyio.fail_after(LIMIT):
        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(take, pool, tmp_path)
            while not (found := new_children(before)):
                await anyio.sleep(0.01)
            tasks.cancel_scope.cancel()
        assert not found[0].is_running()
    assert list((tmp_path / "state/models/servers").glob("*")) == []


async def test_one_who_gives_up_leaves_the_start_to_the_others(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    pool = pool_of(FakeEngine(wait_for=str(gate)))
    leases: list[PoolLease] = []

    async def take_one() -> None:
        leases.append(await take(pool, tmp_path))

    with anyio.fail_after(LIMIT):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(take_one)
            with anyio.move_on_after(0.3):
                await take(pool, tmp_path)
            assert leases == []
            await anyio.to_thread.run_sync(gate.write_bytes, b"go")
        await leases[0].release()


async def test_a_task_that_is_cancelled_the_hard_way_gives_its_claim_back(tmp_path: Path) -> None:
    """asyncio's own cancellation passes every shield."""
    pool = pool_of(FakeEngine(hang=True))
    before = children()
    with anyio.fail_after(LIMIT):
        for pause in (0.0, 0.001, 0.3):
            task = asyncio.ensure_future(take(pool, tmp_path))
            await anyio.sleep(pause)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        while new_children(before):
            await anyio.sleep(0.01)


async def test_after_a_failed_start_the_next_one_tries_again(tmp_path: Path) -> None:
    engine = FakeEngine(exit=1, say="error: no luck")
    pool = pool_of(engine)
    with anyio.fail_after(LIMIT):
        with pytest.raises(UserError, match="no luck"):
            await take(pool, tmp_path)
        engine.fault = {}
        lease = await take(pool, tmp_path)
        await lease.release()


async def test_a_server_that_is_stopping_has_ended_before_the_next_one_starts(
    tmp_path: Path,
) -> None:
    """Both together may not fit into the memory."""
    pool = pool_of(FakeEngine(stubborn=True), StartLimits(grace=0.5))
    with anyio.fail_after(LIMIT):
        old = await take(pool, tmp_path)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(old.release)
            while not old._claim.is_over:
                await anyio.sleep(0.001)
            assert psutil.pid_exists(old.server_pid)
            new = await take(pool, tmp_path)
            assert not psutil.pid_exists(old.server_pid)
        assert await new.is_up()
        await new.release()


async def test_who_comes_while_the_last_one_leaves_gets_a_server_that_stays(
    tmp_path: Path,
) -> None:
    pool = pool_of(FakeEngine())
    with anyio.fail_after(LIMIT):
        for pause in (0.0, 0.0, 0.001, 0.002, 0.005):
            old = await take(pool, tmp_path)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(old.release)
                await anyio.sleep(pause)
                new = await take(pool, tmp_path)
            assert await new.is_up()
            await new.release()


@pytest.mark.proves("L5.pdeathsig")
def test_the_server_outlives_the_thread_and_the_loop_that_asked_for_it(tmp_path: Path) -> None:
    pool = pool_of(FakeEngine())
    leases: list[PoolLease] = []

    def use_a_loop_of_its_own() -> None:
        leases.append(asyncio.run(take(pool, tmp_path)))

    thread = threading.Thread(target=use_a_loop_of_its_own)
    thread.start()
    thread.join(LIMIT)

    async def go_on() -> None:
        with anyio.fail_after(LIMIT):
            assert await leases[0].is_up()
            assert (await ask(leases[0].server)).status_code == 200
            second = await take(pool, tmp_path)
            assert second.server_pid == leases[0].server_pid
            await leases[0].release()
            assert await second.is_up()
            await second.release()

    asyncio.run(go_on())


def test_loops_of_several_threads_share_one_server(tmp_path: Path) -> None:
    pool = pool_of(FakeEngine())
    everybody = threading.Barrier(4)
    pids: list[int] = []

    async def use() -> None:
        lease = await take(pool, tmp_path)
        pids.append(lease.server_pid)
        await anyio.to_thread.run_sync(everybody.wait, LIMIT)
        await lease.release()

    threads = [threading.Thread(target=lambda: asyncio.run(use())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT)
    assert len(pids) == 4
    assert len(set(pids)) == 1


async def test_a_closed_pool_has_stopped_everything_and_starts_nothing(tmp_path: Path) -> None:
    pool = pool_of(FakeEngine())
    with anyio.fail_after(LIMIT):
        lease = await take(pool, tmp_path)
        await anyio.to_thread.run_sync(pool.close)
        assert not psutil.pid_exists(lease.server_pid)
        with pytest.raises(UserError, match="stopped"):
            await take(pool, tmp_path)
        await lease.release()


async def test_closing_stops_a_start_that_is_waited_for(tmp_path: Path) -> None:
    pool = pool_of(FakeEngine(hang=True))
    with anyio.fail_after(LIMIT):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(close_when_started, pool, children())
            with pytest.raises(UserError, match="stopped"):
                await take(pool, tmp_path)


async def close_when_started(pool: ServerPool, before: set[int]) -> None:
    while not new_children(before):
        await anyio.sleep(0.01)
    await anyio.to_thread.run_sync(pool.close)


async def test_a_server_that_stays_up_without_output_is_still_ours(tmp_path: Path) -> None:
    pool = pool_of(FakeEngine(mute=True))
    with anyio.fail_after(LIMIT):
        lease = await take(pool, tmp_path)
        assert await lease.is_up()
        os.kill(lease.server_pid, signal.SIGKILL)
        await lease.release()


def test_a_context_of_nothing_never_reaches_an_engine(tmp_path: Path) -> None:
    with pytest.raises(Bug):
        ServerSpec(tmp_path / "a.gguf", "a", 1, 0)
