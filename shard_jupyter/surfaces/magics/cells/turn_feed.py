"""The events of one turn on their way from the connection's thread to the cell that shows them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from shard_jupyter.errors import ShardError
from shard_jupyter.surfaces.magics.cells.inbox import Inbox
from shard_jupyter.surfaces.transports.client_connection import ClientConnection
from shard_jupyter.types.events import AgentEvent, TurnEnd


@dataclass(frozen=True)
class Lost:
    """The worker is gone, or the connection to it."""

    error: ShardError


class TurnFeed:
    """Puts into `inbox` what belongs to the turn, until it ends or the cell lets go.

    Attributes:
        over: set when the turn has ended or nothing more can come.
    """

    def __init__(
        self, connection: ClientConnection, agent_id: str, turn_id: str, inbox: Inbox
    ) -> None:
        self.over = threading.Event()
        self._turn_id = turn_id
        self._inbox: Inbox | None = inbox
        self._unsubscribe: Callable[[], None] = connection.subscribe(
            agent_id, self._take, self._lose
        )

    def call_off(self) -> None:
        """The prompt was refused: there is no turn."""
        self.over.set()

    def let_go(self) -> None:
        """Nothing of the turn reaches the cell from here on. `over` is still set at its end."""
        self._inbox = None
        if self.over.is_set():
            self._unsubscribe()

    def _take(self, event: AgentEvent) -> None:
        turn_id = getattr(event, "turn_id", None)
        if turn_id not in (None, self._turn_id):
            return  # a turn that an earlier cell has left behind
        self._put(event)
        if isinstance(event, TurnEnd):
            self._end()

    def _lose(self, error: ShardError) -> None:
        self._put(Lost(error))
        self._end()

    def _put(self, item: object) -> None:
        inbox = self._inbox  # another thread lets go of it
        if inbox is not None:
            inbox.put(item)

    def _end(self) -> None:
        self.over.set()
        if self._inbox is None:
            self._unsubscribe()
