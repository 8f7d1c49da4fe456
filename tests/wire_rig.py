"""Both ends of a connection for tests: a service that does as a prompt says, and a raw client."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
from anyio.abc import UNIXSocketStream

from shard_jupyter.errors import AgentBusy, CommandError, FrameError
from shard_jupyter.protocol.agent_commands import Abort, Command, Prompt, Steer, Subscribe
from shard_jupyter.protocol.framing import FrameDecoder, encode_record
from shard_jupyter.protocol.handshake import Hello, Welcome, welcome
from shard_jupyter.protocol.results import (
    Aborted,
    AgentList,
    PromptAccepted,
    SessionOpDone,
    Subscribed,
)
from shard_jupyter.surfaces.transports.server_connection import Answer, Client, ServerConnection
from shard_jupyter.types.events import Event, Notice
from shard_jupyter.types.wire_model import WireModel

Record = dict[str, Any]


def note(text: str, seq: int | None = None) -> Notice:
    return Notice(agent_id="agent-1", code="n", message=text, seq=seq)


@dataclass
class PlayedService:
    """A prompt is an order: `wait`, `busy`, `crash`, `huge`, `say N`; anything else is done."""

    heard: list[Command] = field(default_factory=list)
    clients: list[Client] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    release: anyio.Event = field(default_factory=anyio.Event)
    is_waiting: anyio.Event = field(default_factory=anyio.Event)

    def greet(self, hello: Hello) -> Welcome:
        return welcome(hello, server="played", server_version="1", store_id="store-1")

    async def carry_out(self, command: Command, client: Client) -> Answer:
        self.heard.append(command)
        if client not in self.clients:
            self.clients.append(client)
        match command:
            case Prompt():
                return Answer(await self._prompt(command, client))
            case Steer():
                return Answer(await self._wait(command.text))
            case Abort():
                self.release.set()
                return Answer(Aborted(interrupted=True))
            case Subscribe():
                return Answer(Subscribed(cursor=7), lambda: client.send(note("held", 8)))
        return Answer(AgentList())

    async def _prompt(self, command: Prompt, client: Client) -> WireModel:
        order, _, rest = command.text.partition(" ")
        if order == "wait":
            return await self._wait(rest)
        if order == "busy":
            raise AgentBusy("A turn is running.", next_step="Wait.")
        if order == "refused":
            raise CommandError("no", code="rule", command_id="of-something-else")
        if order == "crash":
            raise ZeroDivisionError("inside")
        if order == "huge":
            return PromptAccepted.model_construct(turn_id="x" * (17 << 20))
        if order == "say":
            for number in range(int(rest)):
                client.send(note(f"{command.id} {number}", number + 1))
        return PromptAccepted(turn_id="turn-1")

    async def _wait(self, name: str) -> WireModel:
        self.is_waiting.set()
        try:
            await self.release.wait()
        except anyio.get_cancelled_exc_class():
            self.cancelled.append(name)
            raise
        return SessionOpDone()

    def forget(self, client: Client) -> None:
        self.gone.append(client.name)


class RawClient:
    """Sends bytes and reads records, in the order in which they come."""

    def __init__(self, stream: UNIXSocketStream) -> None:
        self._stream = stream
        self._decoder = FrameDecoder()
        self._came: list[Record | FrameError] = []

    async def send(self, *records: Record) -> None:
        await self.send_bytes(b"".join(encode_record({"v": 1, **record}) for record in records))

    async def send_bytes(self, data: bytes) -> None:
        await self._stream.send(data)

    async def read(self) -> Record:
        while not self._came:
            self._came += self._decoder.feed(await self._stream.receive())
        item = self._came.pop(0)
        assert not isinstance(item, FrameError), item
        return item

    async def read_until(self, is_last: Callable[[Record], bool]) -> list[Record]:
        """All records up to the first that is asked for."""
        came = [await self.read()]
        while not is_last(came[-1]):
            came.append(await self.read())
        return came

    async def reply_to(self, command_id: str) -> Record:
        return (await self.read_until(lambda record: record.get("re") == command_id))[-1]

    async def hello(self, **fields: Any) -> Record:
        await self.send({"type": "hello", "id": "h", "client": "test", **fields})
        return await self.reply_to("h")

    async def prompt(self, command_id: str, text: str) -> None:
        await self.send(prompt(command_id, text))

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def end_of_stream(self) -> list[Record]:
        """What still comes until the server closes its end."""
        came = []
        try:
            while True:
                came.append(await self.read())
        except anyio.EndOfStream:
            return came


def prompt(command_id: str, text: str) -> Record:
    return {"type": "prompt", "id": command_id, "agent_id": "agent-1", "text": text}


@dataclass
class Served:
    service: PlayedService
    connection: ServerConnection
    client: RawClient
    ended: anyio.Event = field(default_factory=anyio.Event)


@asynccontextmanager
async def served(
    *, greeted: bool = True, before_end: Callable[[ServerConnection], Any] | None = None
) -> AsyncIterator[Served]:
    """A running server connection over a real socket pair, and a raw client of it."""
    ours, theirs = socket.socketpair()
    service = PlayedService()
    connection = ServerConnection(await UNIXSocketStream.from_socket(theirs), service)
    rig = Served(service, connection, RawClient(await UNIXSocketStream.from_socket(ours)))

    async def run() -> None:
        await connection.run(before_end=before_end and (lambda: before_end(connection)))
        rig.ended.set()

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            if greeted:
                await rig.client.hello()
            yield rig
            await rig.client.aclose()
            await rig.ended.wait()


def is_event(record: Record, event: type[Event]) -> bool:
    return bool(record["type"] == event.model_fields["type"].default)
