"""The client's end of a connection over a socket, for a process without an event loop of ours.

Everything may be called from any thread, and nothing but `open` and `close` waits. One thread
reads: it completes futures and calls subscribers, in the order of the records. When the other end
has gone, nobody waits for ever: every open request fails and every subscriber is told.
"""

from __future__ import annotations

import os
import socket
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Self, TypeVar, cast

from pydantic import ValidationError

from shard_jupyter.errors import AgentClosed, CommandError, FrameError, ShardError
from shard_jupyter.protocol.agent_commands import Command, Subscribe
from shard_jupyter.protocol.decode_event import decode_event, decode_reply, describe_invalid
from shard_jupyter.protocol.framing import FrameDecoder, Record, encode_record
from shard_jupyter.protocol.handshake import Hello, Welcome
from shard_jupyter.protocol.remote_error import error_from_wire
from shard_jupyter.protocol.results import Subscribed
from shard_jupyter.surfaces.transports.event_subscribers import (
    EventSubscribers,
    OnEvent,
    OnLost,
    Subscriber,
)
from shard_jupyter.surfaces.transports.open_requests import OpenRequests
from shard_jupyter.surfaces.transports.outbox import Outbox
from shard_jupyter.types.events import AgentEvent
from shard_jupyter.types.wire_model import WireModel

READ_BYTES = 262_144
JOIN_SECONDS = 2.0
PROCESS_ENDED = "process_ended"

R = TypeVar("R", bound=WireModel)


class ClientConnection:
    """Made by `open`. In a forked copy of this process it is closed and leaves the socket be."""

    def __init__(self, sock: socket.socket, on_closed: Callable[[], None] | None = None) -> None:
        self._sock = sock
        self._on_closed = on_closed
        self._owner = os.getpid()
        self._requests = OpenRequests()
        self._subscribers = EventSubscribers()
        self._asked_for: set[str] = set()
        self._outbox = Outbox(sock)
        self._is_open = True
        self._is_ending = False
        self._end: ShardError | None = None
        self._reader = threading.Thread(target=self._read, name="shard-client", daemon=True)
        _OPEN.add(self)

    @classmethod
    def open(
        cls,
        sock: socket.socket,
        *,
        client: str,
        timeout_seconds: float = 30.0,
        on_closed: Callable[[], None] | None = None,
    ) -> Self:
        """Take over `sock` and say hello; blocks for the answer.

        `on_closed` is called once, on the reading thread, after everybody else was told.

        Raises:
            ShardError: no answer in time, or a version that is not spoken here.
        """
        sock.setblocking(True)
        connection = cls(sock, on_closed)
        connection._reader.start()
        greeting = connection.request(Hello, Welcome, client=client)
        try:
            greeting.result(timeout_seconds)
        except TimeoutError:
            connection.close()
            raise AgentClosed(
                f"The agent process gave no answer within {timeout_seconds:g} s.",
                code="no_answer",
                next_step="Run the cell again.",
            ) from None
        except BaseException:
            connection.close()
            raise
        return connection

    @property
    def is_open(self) -> bool:
        return self._is_open

    def request(self, command: type[Command], result: type[R], **fields: Any) -> Future[R]:  # noqa: ANN401 - the command's own
        """Send a command; the future gets its result, or fails with the error that it was there.

        Never raises: what is wrong with `fields` fails the future too. It cannot be cancelled.
        """
        command_id, future = self._requests.begin(result)
        if not future.done():
            data = _encode_command(command, {**fields, "id": command_id})
            if isinstance(data, ShardError):
                self._requests.fail(command_id, data)
            elif self._is_open:
                self._outbox.send(data)
            else:
                self._requests.fail(command_id, self._end or _closed())
        return cast("Future[R]", future)

    def subscribe(self, agent_id: str, on_event: OnEvent, on_lost: OnLost) -> Callable[[], None]:
        """Get the events of an agent from now on; the server is asked for them where needed.

        Both are called on the reading thread and must return soon. `on_lost` is called once, when
        no more events will come; if there is no connection any more, that is within this call.
        What `on_event` raises ends it, and comes to `on_lost` as a `Bug`.

        The result ends it too, without `on_lost`; a call that is under way is still finished.
        """
        subscriber = Subscriber(agent_id, on_event, on_lost)
        if self._subscribers.add(subscriber) and agent_id not in self._asked_for:
            self._asked_for.add(agent_id)
            asked = self.request(Subscribe, Subscribed, agent_id=agent_id)
            asked.add_done_callback(lambda done: self._check_subscribed(agent_id, done))

        def unsubscribe() -> None:
            self._subscribers.remove(subscriber)

        return unsubscribe

    def end_sending(self) -> None:
        """Say nothing more. What the server still says arrives, until it closes its end."""
        self._is_ending = True
        self._is_open = False
        if self._is_mine():
            self._outbox.shut_down(socket.SHUT_WR)

    def close(self) -> None:
        """Let go of the socket and tell everybody who waits. Idempotent."""
        self._is_ending = True
        self._is_open = False
        if self._is_mine():
            self._outbox.shut_down(socket.SHUT_RDWR)
            if threading.current_thread() is not self._reader:
                self._reader.join(JOIN_SECONDS)

    def _is_mine(self) -> bool:
        return os.getpid() == self._owner

    # -- the reading thread

    def _read(self) -> None:
        decoder = FrameDecoder()
        end: ShardError | None = None
        while end is None:
            try:
                data = self._sock.recv(READ_BYTES)
            except OSError:
                data = b""
            if data:
                end = self._take(decoder.feed(data))
            else:
                end = _closed() if self._is_ending else _process_ended()
        self._finish(end)

    def _take(self, items: list[Record | FrameError]) -> ShardError | None:
        """Handle what came. An error: the other end cannot be understood any more."""
        for item in items:
            fault: ShardError | None = None
            if isinstance(item, FrameError):
                fault = item
            elif item.get("type") == "reply":
                fault = self._take_reply(item)
            elif called := self._subscribers.of_agent(item.get("agent_id")):
                self._subscribers.hand_out(cast("AgentEvent", decode_event(item)), called)
            if fault is not None:
                return _not_understood(fault)
        return None

    def _take_reply(self, record: Record) -> ShardError | None:
        try:
            reply = decode_reply(record)
        except FrameError as error:
            return error
        if reply.re is None and reply.error is not None:
            # It answers a request that nobody can name, and that would wait for ever.
            return error_from_wire(reply.error)
        self._requests.settle(reply)
        return None

    def _finish(self, end: ShardError) -> None:
        self._end = end
        self._is_open = False
        self._outbox.close()
        _OPEN.discard(self)
        self._requests.fail_all(end)
        self._subscribers.lose_all(end)
        if self._on_closed is not None:
            self._on_closed()

    def _check_subscribed(self, agent_id: str, done: Future[Subscribed]) -> None:
        error = done.exception()
        if isinstance(error, ShardError):
            self._asked_for.discard(agent_id)
            self._subscribers.lose(self._subscribers.of_agent(agent_id), error)

    def leave_to_parent(self) -> None:
        """Forget everything: this is a forked copy, and the connection is its parent's."""
        self._is_open = False
        self._is_ending = True
        # New ones: the locks of the old may be held by threads that do not exist here.
        self._requests, self._subscribers = OpenRequests(), EventSubscribers()
        self._requests.fail_all(_closed())
        self._subscribers.lose_all(_closed())
        self._outbox.leave_to_parent()


_OPEN: weakref.WeakSet[ClientConnection] = weakref.WeakSet()


def _leave_all_to_parent() -> None:
    for connection in list(_OPEN):
        connection.leave_to_parent()
    _OPEN.clear()


os.register_at_fork(after_in_child=_leave_all_to_parent)


def _process_ended() -> ShardError:
    return AgentClosed(
        "The agent process ended. Everything up to here is kept.",
        code=PROCESS_ENDED,
        next_step="Run the cell again.",
    )


def _closed() -> ShardError:
    return AgentClosed("The connection to the agent process is closed.")


def _not_understood(fault: ShardError) -> ShardError:
    return FrameError(
        f"The agent process said what cannot be understood: {fault.message}.", code=fault.code
    )


def _encode_command(command: type[Command], fields: dict[str, Any]) -> bytes | ShardError:
    """Write a command, or say in words what is wrong with it."""
    try:
        return encode_record(command.model_validate(fields))
    except FrameError as error:
        return error
    except ValidationError as error:
        # A value of its own, without a chain: pydantic's error holds what was given, keys too.
        return CommandError(describe_invalid(error), code="schema")
