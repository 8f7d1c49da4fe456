"""Who gets the events of which agent, at the client's end of a connection."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from shard_jupyter.errors import Bug, ShardError
from shard_jupyter.types.events import AgentEvent

OnEvent = Callable[[AgentEvent], None]
OnLost = Callable[[ShardError], None]


@dataclass(eq=False)
class Subscriber:
    """`on_lost` is called once, unless it was taken out before."""

    agent_id: str
    on_event: OnEvent
    on_lost: OnLost


class EventSubscribers:
    """Safe from any thread; callbacks run on the thread that calls `hand_out` or `lose`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._all: list[Subscriber] = []
        self._end: ShardError | None = None

    def add(self, subscriber: Subscriber) -> bool:
        """Take it in; after the end it is told so at once, and the result is False."""
        with self._lock:
            end = self._end
            if end is None:
                self._all.append(subscriber)
        if end is not None:
            _tell(subscriber, end)
        return end is None

    def remove(self, subscriber: Subscriber) -> bool:
        """True for the one call that took it out."""
        with self._lock:
            if subscriber not in self._all:
                return False
            self._all.remove(subscriber)
            return True

    def of_agent(self, agent_id: object) -> list[Subscriber]:
        with self._lock:
            return [one for one in self._all if one.agent_id == agent_id]

    def hand_out(self, event: AgentEvent, to: Iterable[Subscriber]) -> None:
        for subscriber in to:
            try:
                subscriber.on_event(event)
            except Exception as error:  # noqa: BLE001 - the fault boundary around foreign code
                fault = Bug(f"A subscriber to events failed: {type(error).__name__}: {error}")
                fault.__cause__ = error
                self.lose([subscriber], fault)

    def lose(self, subscribers: Iterable[Subscriber], end: ShardError) -> None:
        for subscriber in subscribers:
            if self.remove(subscriber):
                _tell(subscriber, end)

    def lose_all(self, end: ShardError) -> None:
        """Tell everybody, and everybody who still comes."""
        with self._lock:
            self._end = end
            everybody = list(self._all)
        self.lose(everybody, end)


def _tell(subscriber: Subscriber, end: ShardError) -> None:
    try:
        subscriber.on_lost(end)
    except Exception:  # noqa: BLE001 - the fault boundary around foreign code
        threading.excepthook(
            threading.ExceptHookArgs((*sys.exc_info(), threading.current_thread()))
        )
