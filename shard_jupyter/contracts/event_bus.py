"""The serialisable stream of an agent (Shard §4.10). A transport is one more subscriber."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from shard_jupyter.types.events import AgentEvent

Subscriber = Callable[[AgentEvent], None]
"""Called on the event loop, in order. Must return at once; if it raises, nobody else notices."""

Unsubscribe = Callable[[], None]


class EventBus(Protocol):
    def emit(self, event: AgentEvent) -> None:
        """Hand an event to every subscriber. All get all events in the same order."""
        ...

    def subscribe(self, subscriber: Subscriber) -> Unsubscribe: ...
