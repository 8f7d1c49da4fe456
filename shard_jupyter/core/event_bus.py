"""The agent's stream of events inside its process, and a bounded way to read it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from typing import Self

import anyio

from shard_jupyter.contracts.event_bus import EventBus, Subscriber, Unsubscribe
from shard_jupyter.types.events import EPHEMERAL, AgentEvent

EPHEMERAL_QUEUE_LIMIT = 10_000


class LocalEventBus:
    """Hands events to subscribers at once, and to all of them in the same order.

    An event that a subscriber causes waits until all have got the one before it. A subscriber that
    unsubscribes while an event is handed out does not get that event any more. One that raises
    breaks nothing but itself: the loop's exception handler is told.
    """

    def __init__(self) -> None:
        self._subscribers: dict[int, Subscriber] = {}
        self._next_key = 0
        self._waiting: deque[AgentEvent] = deque()
        self._is_handing_out = False

    def emit(self, event: AgentEvent) -> None:
        self._waiting.append(event)
        if self._is_handing_out:
            return
        self._is_handing_out = True
        try:
            while self._waiting:
                self._hand_out(self._waiting.popleft())
        finally:
            self._is_handing_out = False

    def _hand_out(self, event: AgentEvent) -> None:
        for key, subscriber in tuple(self._subscribers.items()):
            if key not in self._subscribers:
                continue
            try:
                subscriber(event)
            except Exception as error:  # noqa: BLE001 - the fault boundary around foreign code
                report_fault("A subscriber to events raised.", error)

    def subscribe(self, subscriber: Subscriber) -> Unsubscribe:
        key = self._next_key
        self._next_key += 1
        self._subscribers[key] = subscriber

        def unsubscribe() -> None:
            self._subscribers.pop(key, None)

        return unsubscribe


class EventQueue:
    """A subscriber that is read with `async for`. `close` it, or leave its `with`, when done.

    A reader that is too slow loses deltas, never a durable event: past `limit` waiting events an
    ephemeral one is dropped and counted in `dropped`; `message_complete` holds the whole text.
    """

    def __init__(self, limit: int = EPHEMERAL_QUEUE_LIMIT) -> None:
        self._waiting: deque[AgentEvent] = deque()
        self._limit = limit
        self._wake = anyio.Event()
        self._closed = False
        self._detach: Unsubscribe | None = None
        self.dropped = 0

    def attach(self, bus: EventBus) -> Self:
        """Take the events of `bus` from now on, until it is closed."""
        self._detach = bus.subscribe(self.put)
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def put(self, event: AgentEvent) -> None:
        if len(self._waiting) >= self._limit and getattr(event, "type", "") in EPHEMERAL:
            self.dropped += 1
            return
        self._waiting.append(event)
        self._wake.set()

    def close(self) -> None:
        """Take nothing more; readers end once they have read what waits."""
        self._closed = True
        if self._detach is not None:
            self._detach()
        self._wake.set()

    async def __aiter__(self) -> AsyncIterator[AgentEvent]:
        while True:
            while self._waiting:
                yield self._waiting.popleft()
            if self._closed:
                return
            if self._wake.is_set():
                self._wake = anyio.Event()
            await self._wake.wait()


def report_fault(message: str, error: Exception) -> None:
    """Tell whoever watches the event loop; without a loop, raise."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        raise error from None
    loop.call_exception_handler({"message": message, "exception": error})
