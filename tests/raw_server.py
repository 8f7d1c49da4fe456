"""The other end of a `ClientConnection`, written by hand: it says what a test tells it to."""

from __future__ import annotations

import queue
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from shard_jupyter.errors import ShardError
from shard_jupyter.protocol.framing import FrameDecoder, encode_record
from shard_jupyter.surfaces.transports.client_connection import ClientConnection
from shard_jupyter.types.events import AgentEvent

PATIENCE_SECONDS = 20.0
WELCOME = {"version": 1, "server": "raw", "server_version": "1"}


class RawServer:
    def __init__(self, sock: socket.socket) -> None:
        sock.settimeout(PATIENCE_SECONDS)
        self.sock = sock
        self._decoder = FrameDecoder()
        self._came: list[Any] = []

    def read(self) -> dict[str, Any]:
        while not self._came:
            data = self.sock.recv(65536)
            assert data, "the client has closed its end"
            self._came += self._decoder.feed(data)
        return self._came.pop(0)

    def say(self, **record: Any) -> None:
        self.sock.sendall(encode_record({"v": 1, **record}))

    def reply(self, command: dict[str, Any], result: dict[str, Any]) -> None:
        self.say(type="reply", re=command["id"], ok=True, result=result, error=None)

    def refuse(self, command_id: str | None, code: str, message: str = "No.") -> None:
        error = {"code": code, "message": message, "next_step": "Do.", "refusal": None}
        self.say(type="reply", re=command_id, ok=False, result=None, error=error)

    def note(self, text: str, agent_id: str = "agent-1") -> None:
        self.say(type="notice", agent_id=agent_id, turn_id=None, seq=1, code="n", message=text)

    def is_at_end(self) -> bool:
        """Wait until the client has closed its end."""
        while self.sock.recv(65536):
            pass
        return True


class Heard:
    """A subscriber that keeps what it is told; to be waited for from another thread."""

    def __init__(self) -> None:
        self._items: queue.Queue[AgentEvent | ShardError] = queue.Queue()

    def on_event(self, event: AgentEvent) -> None:
        self._items.put(event)

    def on_lost(self, error: ShardError) -> None:
        self._items.put(error)

    def next(self) -> Any:
        return self._items.get(timeout=PATIENCE_SECONDS)

    def is_empty(self) -> bool:
        return self._items.empty()


@contextmanager
def connected() -> Iterator[tuple[ClientConnection, RawServer]]:
    """A greeted connection and the server's end of it."""
    ours, theirs = socket.socketpair()
    server = RawServer(theirs)
    greeting = threading.Thread(target=lambda: server.reply(server.read(), WELCOME))
    greeting.start()
    connection = ClientConnection.open(ours, client="test", timeout_seconds=PATIENCE_SECONDS)
    greeting.join()
    try:
        yield connection, server
    finally:
        connection.close()
        theirs.close()
