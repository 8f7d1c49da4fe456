"""From the event bus of one agent to the clients that asked for its events."""

from __future__ import annotations

from dataclasses import dataclass, field

from shard_jupyter.errors import ClientVisibleError
from shard_jupyter.protocol.handshake import Role
from shard_jupyter.protocol.remote_error import UNSUPPORTED
from shard_jupyter.surfaces.transports.server_connection import Client
from shard_jupyter.types.events import EPHEMERAL, AgentEvent, Event, Notice
from shard_jupyter.types.wire_model import Unknown

MAX_HELD = 100


class Cursor:
    """Numbers the durable events of one process. They are kept nowhere: its agents' logs are."""

    def __init__(self) -> None:
        self.newest = 0

    def stamp(self, event: Event) -> Event:
        self.newest += 1
        return event.model_copy(update={"seq": self.newest})

    def check(self, wanted: int | None) -> None:
        """Refuse a cursor that would need events which are gone.

        One beyond the newest is of another store, and counts as none.

        Raises:
            ClientVisibleError: `unsupported`.
        """
        if wanted is not None and wanted < self.newest:
            raise ClientVisibleError(
                "this server keeps no events that have gone by",
                code=UNSUPPORTED,
                next_step="Leave out the cursor; session_op list reads the conversation.",
            )


@dataclass(frozen=True)
class _Subscription:
    client: Client
    role: Role
    deltas: bool


@dataclass
class EventFanOut:
    """One an agent. What it has to tell at its opening waits for the first who listens."""

    cursor: Cursor
    _subscriptions: dict[int, _Subscription] = field(default_factory=dict)
    _held: list[Notice] | None = field(default_factory=list)

    def __len__(self) -> int:
        return len(self._subscriptions)

    def add(self, client: Client, *, role: Role | None = None, deltas: bool = True) -> None:
        """Subscribe a client, or change how it is subscribed."""
        self._subscriptions[id(client)] = _Subscription(client, role or client.role, deltas)

    def remove(self, client: Client) -> None:
        self._subscriptions.pop(id(client), None)

    def may_answer(self, client: Client) -> bool:
        """Observers never answer (Shard §6.3)."""
        subscription = self._subscriptions.get(id(client))
        return (subscription.role if subscription else client.role) == "interactive"

    def release_held(self) -> None:
        """Say now what was held: the first subscriber has its reply."""
        held, self._held = self._held, None
        for notice in held or ():
            self.take(notice)

    def take(self, event: AgentEvent) -> None:
        """Pass on one event of the bus."""
        if self._held is not None and isinstance(event, Notice):
            if len(self._held) < MAX_HELD:
                self._held.append(event)
        elif isinstance(event, Unknown):
            self._send(event, is_delta=False)  # of a newer version: it has no place for a number
        elif event.type in EPHEMERAL:
            self._send(event, is_delta=True)
        else:
            self._send(self.cursor.stamp(event), is_delta=False)

    def _send(self, event: Event | Unknown, *, is_delta: bool) -> None:
        for subscription in tuple(self._subscriptions.values()):
            if subscription.deltas or not is_delta:
                subscription.client.send(event)
