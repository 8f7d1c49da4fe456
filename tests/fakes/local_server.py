"""A local model server that says what a test wrote down, in either dialect, with faults; and leases on it.

Its forms are those that were seen of the engines themselves. Every answer closes its connection.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from shard_jupyter.capabilities.local_models.engines.engine import Dialect
from shard_jupyter.capabilities.local_models.model_places import ModelPlaces
from shard_jupyter.capabilities.local_models.servers.server_spec import (
    RunningServer,
    ServerSpec,
    Tell,
)
from shard_jupyter.errors import UserError

KEY = "0123456789abcdef-local-key"


@dataclass
class Reply:
    """One answer.

    Attributes:
        text: what is streamed, `chunk` characters at a time.
        body: with a status that is not 200: the whole body.
        chat: for the chat route: the deltas, as they come.
        events: whole events in place of a stream made from `text`.
        ends: False: the connection closes before the last event.
        pace_seconds: how long it takes for each event.
        hangs: after the pieces nothing comes until the client is gone.
    """

    text: str = ""
    chunk: int = 3
    status: int = 200
    body: Any = None
    chat: list[dict[str, Any]] = field(default_factory=list)
    events: list[Any] | None = None
    stop: str = "eos"
    finish: str = "stop"
    truncated: bool = False
    prompt_tokens: int = 1_000
    ends: bool = True
    hangs: bool = False
    pace_seconds: float = 0.0


def write_call(tool: str, **arguments: Any) -> Reply:
    return Reply(json.dumps({"tool": tool, "args": arguments}, ensure_ascii=False))


def write_answer(text: str) -> Reply:
    return write_call("answer", text=text)


class FakeLocalServer:
    """`requests`: path and body of all that came, in order."""

    def __init__(self, replies: list[Reply], dialect: Dialect, forward_to: int | None) -> None:
        self.replies = replies
        self.dialect = dialect
        self.forward_to = forward_to
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self.keys: list[str] = []
        self.hung_up = asyncio.Event()
        self.count: int | None = 900
        self.template = "{content}"
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def asked(self) -> list[dict[str, Any]]:
        """Bodies of the requests for text."""
        return [
            body for path, body in self.requests if path.endswith(("completions", "/completion"))
        ]

    def running(self, **fields: Any) -> RunningServer:
        known: dict[str, Any] = {
            "base_url": self.url,
            "api_key": KEY,
            "dialect": self.dialect,
            "context_tokens": 4096,
            "supports_tools": None,
            "chat_template": "",
        }
        return RunningServer(**{**known, **fields})

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            lines = head.decode().split("\r\n")
            fields = {
                name.lower(): value.strip()
                for name, _, value in (line.partition(":") for line in lines[1:])
            }
            path = lines[0].split(" ")[1]
            data = await reader.readexactly(int(fields.get("content-length", "0")))
            self.keys.append(fields.get("authorization", ""))
            self.requests.append((path, json.loads(data)))
            if self.forward_to is not None and path.startswith("/v1"):
                await self._forward(head + data, reader, writer)
            else:
                await self._answer(path, reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            self.hung_up.set()
        finally:
            writer.close()

    async def _forward(
        self, request: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        theirs, to_them = await asyncio.open_connection("127.0.0.1", self.forward_to)
        to_them.write(request)

        async def watch() -> None:
            while data := await reader.read(65536):  # the next request on this connection
                to_them.write(data)
            to_them.close()

        watching = asyncio.ensure_future(watch())
        try:
            while data := await theirs.read(65536):
                writer.write(data)
                await writer.drain()
        finally:
            watching.cancel()
            to_them.close()

    async def _answer(
        self, path: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        if path == "/apply-template":
            content = self.requests[-1][1]["messages"][-1]["content"]
            ok = bool(self.template)
            prompt = {"prompt": self.template.replace("{content}", content)}
            return _send_json(writer, 200 if ok else 500, prompt if ok else {"error": "Jinja"})
        if path == "/extras/tokenize/count":
            found = self.count is not None
            return _send_json(writer, 200 if found else 404, {"count": self.count})
        reply = self.replies.pop(0)
        if reply.status != 200:
            return _send_json(writer, reply.status, reply.body)
        _send_head(writer, 200, "text/event-stream")
        for event in _events(path, reply):
            text = event if isinstance(event, str) else json.dumps(event)
            writer.write(f"data: {text}\n\n".encode())
            await writer.drain()
            await asyncio.sleep(reply.pace_seconds)
        if reply.hangs:
            await reader.read()
            self.hung_up.set()
        return None


def _events(path: str, reply: Reply) -> Iterator[Any]:
    if reply.events is not None:
        yield from reply.events
        return
    if path.endswith("/chat/completions"):
        yield from _chat_events(reply)
        return
    pieces = [
        reply.text[start : start + reply.chunk] for start in range(0, len(reply.text), reply.chunk)
    ]
    counts = {"tokens_evaluated": reply.prompt_tokens}
    for number, piece in enumerate(pieces, start=1):
        if path == "/completion":
            yield {"content": piece, "stop": False, "tokens_predicted": number, **counts}
        else:
            yield {"choices": [{"text": piece, "index": 0, "finish_reason": None}]}
    if not reply.ends or reply.hangs:
        return
    if path == "/completion":
        yield {
            "content": "", "stop": True, "stop_type": reply.stop, "truncated": reply.truncated,
            "tokens_predicted": len(pieces), "timings": {"cache_n": 7}, **counts,
        }  # fmt: skip
    else:
        finish = "length" if reply.stop == "limit" else "stop"
        yield {"choices": [{"text": "", "index": 0, "finish_reason": finish}]}
        yield "[DONE]"


def _chat_events(reply: Reply) -> Iterator[Any]:
    deltas = reply.chat or [
        {"content": reply.text[start : start + reply.chunk]}
        for start in range(0, len(reply.text), reply.chunk)
    ]
    for delta in deltas:
        yield {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield {"choices": [{"index": 0, "delta": {}, "finish_reason": reply.finish}]}
    usage = {"prompt_tokens": reply.prompt_tokens, "completion_tokens": len(deltas)}
    yield {"choices": [], "usage": usage}
    yield "[DONE]"


def _send_head(writer: asyncio.StreamWriter, status: int, kind: str) -> None:
    head = f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nConnection: close\r\n\r\n"
    writer.write(head.encode())


def _send_json(writer: asyncio.StreamWriter, status: int, value: object) -> None:
    _send_head(writer, status, "application/json")
    writer.write(json.dumps(value).encode())


@asynccontextmanager
async def local_server(
    *replies: Reply, dialect: Dialect = "llama-server", forward_to: int | None = None
) -> AsyncIterator[FakeLocalServer]:
    """Serve on a free port until the block ends. `forward_to`: the port that has the routes `/v1`."""
    fake = FakeLocalServer(list(replies), dialect, forward_to)
    server = await asyncio.start_server(fake.serve, "127.0.0.1", 0)
    fake.port = server.sockets[0].getsockname()[1]
    try:
        yield fake
    finally:
        server.close()


@dataclass
class FakeLease:
    running: RunningServer
    is_alive: bool = True
    released: int = 0

    @property
    def server(self) -> RunningServer:
        return self.running

    async def is_up(self) -> bool:
        return self.is_alive

    async def release(self) -> None:
        self.released += 1


@dataclass
class FakeServers:
    """Gives a lease on each of `running` in turn; the last one again and again.

    Attributes:
        says: told while the server starts.
        refuses: raised in place of a lease.
        waits: what `acquire` waits for; `is_waiting` is set meanwhile.
    """

    running: list[RunningServer]
    says: tuple[str, ...] = ()
    refuses: UserError | None = None
    waits: asyncio.Event | None = None
    is_waiting: asyncio.Event = field(default_factory=asyncio.Event)
    leases: list[FakeLease] = field(default_factory=list)
    specs: list[ServerSpec] = field(default_factory=list)
    given_up: int = 0

    async def acquire(self, spec: ServerSpec, tell: Tell, *, places: ModelPlaces) -> FakeLease:
        self.specs.append(spec)
        for text in self.says:
            tell(text)
        if self.refuses is not None:
            raise self.refuses
        if self.waits is not None:
            self.is_waiting.set()
            try:
                await self.waits.wait()
            except asyncio.CancelledError:
                self.given_up += 1
                raise
        lease = FakeLease(self.running.pop(0) if len(self.running) > 1 else self.running[0])
        self.leases.append(lease)
        return lease
