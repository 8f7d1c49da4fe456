from __future__ import annotations

import anyio
import pytest

from shard_jupyter.core.steering import SteerQueue

pytestmark = pytest.mark.proves("A03")


def taken(queue: SteerQueue) -> list[str]:
    texts: list[str] = []
    queue.drain(texts.append)
    return texts


async def test_a_steer_is_injected_when_the_turn_drains() -> None:
    queue = SteerQueue()
    queue.open_turn("t1")
    replies = []

    async def steer() -> None:
        replies.append(await queue.steer("t1", "also the tests"))

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(steer)
            while not queue.has_waiting:
                await anyio.lowlevel.checkpoint()
            assert taken(queue) == ["also the tests"]
    assert replies[0].status == "injected"


async def test_a_steer_for_another_turn_is_a_conflict_at_once() -> None:
    queue = SteerQueue()
    queue.open_turn("t2")
    with anyio.fail_after(5):
        assert (await queue.steer("t1", "x")).status == "conflict"
    assert not queue.has_waiting


async def test_a_steer_that_the_turn_did_not_take_never_reaches_the_next_turn() -> None:
    queue = SteerQueue()
    queue.open_turn("t1")
    replies = []

    async def steer() -> None:
        replies.append(await queue.steer("t1", "late"))

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(steer)
            while not queue.has_waiting:
                await anyio.lowlevel.checkpoint()
            queue.close_turn()
            queue.open_turn("t2")
    assert replies[0].status == "conflict"
    assert taken(queue) == []


async def test_a_cancelled_steer_is_withdrawn() -> None:
    queue = SteerQueue()
    queue.open_turn("t1")
    with anyio.move_on_after(0):
        await queue.steer("t1", "x")
    assert taken(queue) == []


async def test_a_steer_that_could_not_be_written_down_is_no_injected_one() -> None:
    queue = SteerQueue()
    queue.open_turn("t1")
    replies = []

    async def steer() -> None:
        replies.append(await queue.steer("t1", "x"))

    def refuse(text: str) -> None:
        raise OSError(text)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(steer)
            while not queue.has_waiting:
                await anyio.lowlevel.checkpoint()
            with pytest.raises(OSError, match="x"):
                queue.drain(refuse)
            queue.close_turn()
    assert replies[0].status == "conflict"
