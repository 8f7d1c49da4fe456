from __future__ import annotations

import asyncio

import anyio
import pytest

from shard_jupyter.core.event_bus import EventQueue, LocalEventBus
from shard_jupyter.types.events import MessageDelta, Notice, StatusEvent

pytestmark = pytest.mark.proves("A16")


def notice(text: str) -> Notice:
    return Notice(agent_id="a", code="c", message=text)


def delta(text: str) -> MessageDelta:
    return MessageDelta(agent_id="a", item_id="i", offset=0, text=text)


def test_every_subscriber_gets_every_event_in_order() -> None:
    bus, one, two = LocalEventBus(), [], []
    bus.subscribe(one.append)
    bus.subscribe(two.append)
    events = [notice(str(n)) for n in range(5)]
    for event in events:
        bus.emit(event)
    assert one == two == events


def test_who_unsubscribes_gets_nothing_more_even_in_the_middle_of_an_event() -> None:
    bus, got = LocalEventBus(), []
    removers = []
    bus.subscribe(lambda _: removers[0]())
    removers.append(bus.subscribe(got.append))
    bus.emit(notice("x"))
    assert got == []


async def test_a_slow_reader_loses_deltas_and_never_a_durable_event() -> None:
    queue = EventQueue(limit=3)
    for n in range(10):
        queue.put(delta(str(n)))
        queue.put(notice(str(n)))
    queue.close()
    with anyio.fail_after(5):
        got = [event async for event in queue]
    assert [e.message for e in got if isinstance(e, Notice)] == [str(n) for n in range(10)]
    assert queue.dropped == 10 - sum(isinstance(e, MessageDelta) for e in got) > 0


async def test_a_reader_that_waits_is_woken_by_the_next_event() -> None:
    queue, got = EventQueue(), []

    async def read() -> None:
        async for event in queue:
            got.append(event)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(read)
            await anyio.lowlevel.checkpoint()
            queue.put(StatusEvent(agent_id="a", status="idle"))
            while not got:
                await anyio.lowlevel.checkpoint()
            queue.close()
    assert len(got) == 1


def test_an_event_that_a_subscriber_causes_comes_after_its_cause_for_everybody() -> None:
    """Else a client would hear that a question is answered before it hears the question."""
    bus, first, last = LocalEventBus(), [], []

    def answer(event: Notice) -> None:
        if event.message == "question":
            bus.emit(notice("answer"))
            bus.emit(notice("thanks"))

    bus.subscribe(lambda event: first.append(event.message))
    bus.subscribe(answer)
    bus.subscribe(lambda event: last.append(event.message))
    bus.emit(notice("question"))
    assert first == last == ["question", "answer", "thanks"]


async def test_a_subscriber_that_raises_starves_nobody_and_is_reported() -> None:
    bus, got, reported = LocalEventBus(), [], []
    loop = asyncio.get_running_loop()
    usual = loop.get_exception_handler()
    loop.set_exception_handler(lambda _, context: reported.append(context["exception"]))

    def raise_it(event: object) -> None:
        raise ValueError("no")

    bus.subscribe(raise_it)
    bus.subscribe(got.append)
    try:
        bus.emit(notice("x"))
        bus.emit(notice("y"))
    finally:
        loop.set_exception_handler(usual)
    assert [event.message for event in got] == ["x", "y"]
    assert [type(error) for error in reported] == [ValueError, ValueError]


def test_what_is_no_exception_passes_and_the_bus_goes_on() -> None:
    bus, got = LocalEventBus(), []

    def stop(event: Notice) -> None:
        if event.message == "x":
            raise KeyboardInterrupt

    bus.subscribe(stop)
    bus.subscribe(lambda event: got.append(event.message))
    with pytest.raises(KeyboardInterrupt):
        bus.emit(notice("x"))
    bus.emit(notice("y"))
    assert got == ["y"]


async def test_two_readers_of_a_queue_both_end_when_it_is_closed() -> None:
    queue, got = EventQueue(), []

    async def read() -> None:
        async for event in queue:
            got.append(event.message)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(read)
            group.start_soon(read)
            await anyio.wait_all_tasks_blocked()
            queue.put(notice("x"))
            await anyio.wait_all_tasks_blocked()
            queue.close()
    assert got == ["x"]


def test_a_closed_queue_holds_nothing_more() -> None:
    bus = LocalEventBus()
    with EventQueue().attach(bus) as queue:
        bus.emit(notice("x"))
    bus.emit(notice("y"))
    assert len(queue._waiting) == 1
    assert bus._subscribers == {}
