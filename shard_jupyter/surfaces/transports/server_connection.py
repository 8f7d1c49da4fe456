"""The server's end of a connection over a byte stream (docs/protocol.md).

One task reads, one writes, and each command is carried out in a task of its own, begun in the order
in which they came. Nothing that a client sends ends the connection: a bad record gives one error
reply. A client that does not read stops being read itself, so that its replies cannot pile up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

import anyio
from anyio.abc import ByteStream, TaskGroup
from anyio.lowlevel import checkpoint

from shard_jupyter.core.event_bus import report_fault
from shard_jupyter.errors import Bug, ClientVisibleError, CommandError, FrameError, ShardError
from shard_jupyter.protocol.agent_commands import Command
from shard_jupyter.protocol.decode_command import decode_command
from shard_jupyter.protocol.envelope import Reply, error_reply, ok_reply
from shard_jupyter.protocol.framing import FrameDecoder, Record, encode_record
from shard_jupyter.protocol.handshake import Hello, Role, Welcome
from shard_jupyter.protocol.remote_error import HELLO, TOO_MANY
from shard_jupyter.surfaces.transports.outgoing import OutgoingQueue
from shard_jupyter.types.events import Event
from shard_jupyter.types.wire_model import Unknown, WireModel

READ_BYTES = 65_536
WRITE_BYTES = 262_144
MAX_REPLY_BYTES = 1 << 20
"""Replies that wait; above it nothing more is read."""
MAX_OPEN_COMMANDS = 256
DELTA_DELAY_SECONDS = 0.01
"""How long a delta waits for others to be written with it."""
FLUSH_SECONDS = 1.0
"""How long a client may take to read the last of what it is sent."""


@dataclass(frozen=True)
class Answer:
    """What a command came to.

    Attributes:
        then: called when the reply is in line; what it sends comes after the reply.
    """

    result: WireModel
    then: Callable[[], None] | None = None


class Client(Protocol):
    """Who is at the other end, for whoever carries out commands."""

    @property
    def name(self) -> str: ...

    @property
    def role(self) -> Role: ...

    def send(self, event: Event | Unknown) -> None:
        """Put an event in line; never waits."""
        ...


class Service(Protocol):
    """Carries out what clients say. Called on the event loop."""

    def greet(self, hello: Hello) -> Welcome:
        """Answer the first command.

        Raises:
            ShardError: becomes the error reply; the client may say hello again.
        """
        ...

    async def carry_out(self, command: Command, client: Client) -> Answer:
        """Carry out any other command. Cancelled when the client goes.

        Raises:
            ShardError: becomes the error reply.
        """
        ...

    def forget(self, client: Client) -> None:
        """Send nothing more to it: it has gone."""
        ...


class ServerConnection:
    """One client. `run` serves it; everything is called on the event loop."""

    def __init__(self, stream: ByteStream, service: Service) -> None:
        self._stream = stream
        self._service = service
        self._hello: Hello | None = None
        self._outgoing = OutgoingQueue()
        self._open_commands = 0
        self._reading = anyio.CancelScope()
        self._wake = asyncio.Event()
        self._room = asyncio.Event()
        self._delayed: asyncio.TimerHandle | None = None
        self._is_due = False
        self._is_ending = False
        self._is_gone = False

    @property
    def name(self) -> str:
        return self._hello.client if self._hello else ""

    @property
    def role(self) -> Role:
        return self._hello.role if self._hello else "observer"

    @property
    def dropped(self) -> int:
        """Deltas that were left out because the client did not read."""
        return self._outgoing.dropped

    def send(self, event: Event | Unknown) -> None:
        if self._is_gone:
            return
        if self._outgoing.put_event(event):
            self._wake.set()
        elif self._delayed is None:
            loop = asyncio.get_running_loop()
            self._delayed = loop.call_later(DELTA_DELAY_SECONDS, self._send_deltas)

    def stop(self) -> None:
        """Read nothing more; `run` comes to its end as if the client had gone."""
        self._reading.cancel()

    async def run(self, *, before_end: Callable[[], Awaitable[None]] | None = None) -> None:
        """Serve until the client goes or `stop` is called; then close the stream.

        What `before_end` sends still reaches a client that reads.
        """
        try:
            async with anyio.create_task_group() as writing:
                writing.start_soon(self._write)
                try:
                    with self._reading:
                        await self._serve()
                    if before_end is not None:
                        await before_end()
                finally:
                    self._service.forget(self)
                    self._is_ending = True
                    self._wake.set()
                    writing.cancel_scope.deadline = anyio.current_time() + FLUSH_SECONDS
        finally:
            self._is_gone = True
            with anyio.CancelScope(shield=True):
                await self._stream.aclose()

    async def _serve(self) -> None:
        async with anyio.create_task_group() as commands:
            decoder = FrameDecoder()
            while True:
                try:
                    data = await self._stream.receive(READ_BYTES)
                except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                    break
                for item in decoder.feed(data):
                    await self._take(item, commands)
            commands.cancel_scope.cancel()

    async def _take(self, item: Record | FrameError, commands: TaskGroup) -> None:
        await self._wait_for_room()
        try:
            if isinstance(item, FrameError):
                raise item
            command = decode_command(item)
        except CommandError as error:
            self._reply(error_reply(error.command_id, error))
            return
        except FrameError as error:
            self._reply(error_reply(None, error))
            return
        if isinstance(command, Hello) or self._hello is None:
            self._reply(self._greet(command))
        elif self._open_commands >= MAX_OPEN_COMMANDS:
            refusal = f"{MAX_OPEN_COMMANDS} commands wait for their reply"
            self._reply(error_reply(command.id, ClientVisibleError(refusal, code=TOO_MANY)))
        else:
            self._open_commands += 1
            commands.start_soon(self._carry_out, command)
            await checkpoint()  # it begins, and ends if it need not wait, before the next one

    def _greet(self, command: Command) -> Reply:
        if not isinstance(command, Hello) or self._hello is not None:
            refusal = ClientVisibleError("hello comes first on a connection, and once", code=HELLO)
            return error_reply(command.id, refusal)
        try:
            reply = ok_reply(command.id, self._service.greet(command))
        except ShardError as error:
            return error_reply(command.id, error)
        self._hello = command
        return reply

    async def _carry_out(self, command: Command) -> None:
        then = None
        try:
            answer = await self._service.carry_out(command, self)
            reply, then = ok_reply(command.id, answer.result), answer.then
        except ShardError as error:
            reply = error_reply(command.id, error)
            if isinstance(error, Bug):
                report_fault(f"A fault while carrying out {type(command).__name__}.", error)
        except Exception as error:  # noqa: BLE001 - no command may end the others
            report_fault(f"A fault while carrying out {type(command).__name__}.", error)
            fault = Bug(f"The server has a fault: {type(error).__name__}.")
            reply = error_reply(command.id, fault)
        finally:
            self._open_commands -= 1
        self._reply(reply)
        if then is not None:
            then()

    def _reply(self, reply: Reply) -> None:
        try:
            data = encode_record(reply)
        except FrameError as error:
            data = encode_record(error_reply(reply.re, error))
        self._outgoing.put_reply(data)
        self._wake.set()

    async def _wait_for_room(self) -> None:
        while self._outgoing.reply_bytes > MAX_REPLY_BYTES:
            self._room.clear()
            await self._room.wait()

    def _send_deltas(self) -> None:
        self._delayed = None
        self._is_due = True
        self._wake.set()

    async def _write(self) -> None:
        try:
            while True:
                while self._is_due or self._is_ending or self._outgoing.has_durable:
                    data = self._outgoing.take(WRITE_BYTES)
                    if not data:
                        break
                    # What comes while this is sent waits for its own time, unless we lag behind.
                    self._is_due = len(data) >= WRITE_BYTES
                    self._room.set()
                    await self._stream.send(data)
                if self._is_ending:
                    return
                self._wake.clear()
                await self._wake.wait()
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            # Whoever cannot be written to has gone, even if reading has not found that out yet.
            self._is_gone = True
            self._outgoing.clear()
            self._reading.cancel()
