"""A local provider over a server that a test has written, and what it is asked."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio.to_thread

from shard_jupyter.capabilities.local_models.engines.engine import Dialect
from shard_jupyter.capabilities.local_models.gguf.gguf_header import GgufHeader
from shard_jupyter.capabilities.local_models.local_provider import LocalModel, LocalProvider
from shard_jupyter.capabilities.local_models.model_places import ModelPlaces
from shard_jupyter.capabilities.local_models.servers.server_spec import ServerSpec
from shard_jupyter.capabilities.model_providers import CHAT_FACTORY
from shard_jupyter.contracts.provider import (
    Answered,
    ArgumentsDelta,
    Failed,
    ProviderEvent,
    ProviderFailure,
    ProviderNotice,
    ProviderRequest,
    RouteInfo,
    TextDelta,
)
from shard_jupyter.contracts.tool import ToolSpec
from shard_jupyter.core.tools import builtin_tools
from shard_jupyter.types.content import TextBlock, ToolCallBlock, ToolResultBlock
from shard_jupyter.types.messages import Message, user_text
from tests.fakes.local_server import FakeLocalServer, FakeServers, Reply, local_server
from tests.fakes.model_server import ask_once

SPECS = tuple(tool.spec for tool in builtin_tools())
HEADER = GgufHeader(
    path=Path("/models/m.gguf"),
    file_bytes=1_000,
    architecture="llama",
    name="m",
    size_label="0.5B",
    licence="",
    trained_context=8192,
    block_count=1,
    embedding_length=8,
    head_count=1,
    kv_heads=(1,),
    key_length=8,
    value_length=8,
    sliding_window=None,
    chat_template="{{ messages }}",
    parameters=500_000_000,
)
LARGE = replace(HEADER, parameters=7_000_000_000)


@asynccontextmanager
async def talking_to(
    *replies: Reply,
    dialect: Dialect = "llama-server",
    header: GgufHeader = HEADER,
    timeout_seconds: float = 10.0,
    **running: Any,
) -> AsyncIterator[tuple[FakeLocalServer, LocalProvider]]:
    """A server that says `replies` one after the other, and a provider that asks it."""
    async with (
        local_server(*replies, dialect=dialect) as server,
        provider_on(server, header, timeout_seconds, **running) as provider,
    ):
        yield server, provider


async def make_provider(
    servers: FakeServers, header: GgufHeader = HEADER, timeout_seconds: float = 10.0
) -> LocalProvider:
    route = RouteInfo(model_id="local:gguf:m", cloud=False, context_window=4096)
    spec = ServerSpec(header.path, "M", header.file_bytes, 4096)
    places = ModelPlaces(state_home=Path("/state"), home=Path("/home"))
    made = LocalModel(route, header, spec, places, timeout_seconds)
    # In a thread, as sessions do: it imports.
    return await anyio.to_thread.run_sync(LocalProvider, made, servers, CHAT_FACTORY)


@asynccontextmanager
async def provider_on(
    server: FakeLocalServer,
    header: GgufHeader = HEADER,
    timeout_seconds: float = 10.0,
    **running: Any,
) -> AsyncIterator[LocalProvider]:
    provider = await make_provider(
        FakeServers([server.running(**running)]), header, timeout_seconds
    )
    try:
        yield provider
    finally:
        await provider.aclose()


def request(*messages: str | Message, tools: tuple[ToolSpec, ...] = SPECS) -> ProviderRequest:
    made = tuple(user_text(part) if isinstance(part, str) else part for part in messages)
    return ProviderRequest(model="gguf:m", system="You are a test.", messages=made, tools=tools)


def called(name: str, call_id: str = "call-1", **arguments: Any) -> Message:
    block = ToolCallBlock(call_id=call_id, name=name, arguments=arguments)
    return Message(role="assistant", content=(block,))


def result(
    text: str,
    *,
    name: str = "read",
    call_id: str = "call-1",
    error: bool = False,
    denied: bool = False,
) -> Message:
    block = ToolResultBlock(
        call_id=call_id,
        name=name,
        content=(TextBlock(text=text),),
        is_error=error or denied,
        is_denied=denied,
    )
    return Message(role="tool", content=(block,))


class Heard:
    """The events of one answer."""

    def __init__(self, events: list[ProviderEvent]) -> None:
        self.events = events
        self.last = events[-1]

    @property
    def text(self) -> str:
        return "".join(event.text for event in self.events if isinstance(event, TextDelta))

    @property
    def arguments(self) -> str:
        return "".join(event.text for event in self.events if isinstance(event, ArgumentsDelta))

    @property
    def notices(self) -> list[ProviderNotice]:
        return [event for event in self.events if isinstance(event, ProviderNotice)]

    @property
    def answer(self) -> Answered:
        assert isinstance(self.last, Answered), self.last
        return self.last

    @property
    def calls(self) -> tuple[ToolCallBlock, ...]:
        return self.answer.message.tool_calls

    @property
    def failure(self) -> ProviderFailure:
        assert isinstance(self.last, Failed), self.last
        return self.last.failure


async def ask(provider: LocalProvider, *messages: str | Message) -> Heard:
    return Heard(await ask_once(provider, request(*messages)))
