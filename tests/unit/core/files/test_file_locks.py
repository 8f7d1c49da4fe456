from __future__ import annotations

import anyio
import pytest

from shard_jupyter.core.files.file_locks import FileLocks

pytestmark = pytest.mark.proves("A05", "H4e.53")


async def test_holders_of_one_file_come_in_the_order_of_asking(tmp_path):
    locks = FileLocks()
    (tmp_path / "link").symlink_to("file")
    order: list[int] = []
    inside = 0

    async def use(index: int) -> None:
        nonlocal inside
        async with locks.hold(tmp_path / ("link" if index % 2 else "file")):
            inside += 1
            assert inside == 1
            order.append(index)
            await anyio.lowlevel.checkpoint()
            inside -= 1

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            for index in range(20):
                tasks.start_soon(use, index)
                await anyio.lowlevel.checkpoint()
    assert order == list(range(20))
    assert locks._queues == {}


async def test_two_files_do_not_wait_for_each_other(tmp_path):
    locks = FileLocks()
    with anyio.fail_after(5):
        async with locks.hold(tmp_path / "a"), locks.hold(tmp_path / "b"):
            pass


async def test_cancelled_waiter_lets_the_next_one_in(tmp_path):
    locks = FileLocks()
    reached = anyio.Event()

    async def wait_in_vain(*, task_status) -> None:
        with anyio.CancelScope() as scope:
            task_status.started(scope)
            async with locks.hold(tmp_path / "a"):
                raise AssertionError("was cancelled before")

    async def wait() -> None:
        async with locks.hold(tmp_path / "a"):
            reached.set()

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            async with locks.hold(tmp_path / "a"):
                scope = await tasks.start(wait_in_vain)
                tasks.start_soon(wait)
                await anyio.wait_all_tasks_blocked()
                scope.cancel()
                await anyio.wait_all_tasks_blocked()
                assert not reached.is_set()
            await reached.wait()
    assert locks._queues == {}


async def test_error_of_a_holder_frees_the_file(tmp_path):
    locks = FileLocks()
    with pytest.raises(RuntimeError):
        async with locks.hold(tmp_path / "a"):
            raise RuntimeError
    with anyio.fail_after(5):
        async with locks.hold(tmp_path / "a"):
            pass
