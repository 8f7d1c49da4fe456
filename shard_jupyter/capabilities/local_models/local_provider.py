"""One model on this machine, as a provider."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial

import anyio
import anyio.to_thread

from shard_jupyter.capabilities.local_models.asking.server_tools import ServerToolsAsker
from shard_jupyter.capabilities.local_models.asking.strategy import choose_strategy
from shard_jupyter.capabilities.local_models.asking.tiny_asker import TinyAsker
from shard_jupyter.capabilities.local_models.gguf.gguf_header import GgufHeader
from shard_jupyter.capabilities.local_models.model_places import ModelPlaces
from shard_jupyter.capabilities.local_models.opened_server import OpenedServer
from shard_jupyter.capabilities.local_models.servers.server_spec import (
    RunningServer,
    Servers,
    ServerSpec,
)
from shard_jupyter.capabilities.local_models.wire.completion_wire import CompletionWire
from shard_jupyter.contracts.provider import (
    Answered,
    Failed,
    Provider,
    ProviderEvent,
    ProviderFactory,
    ProviderFailure,
    ProviderNotice,
    ProviderRequest,
    ProviderSettings,
    RouteInfo,
)
from shard_jupyter.contracts.tool_context import BlobStore
from shard_jupyter.errors import AgentClosed, Bug, ShardError

PROBE = "shard-template-probe"
RESTARTED_STEP = (
    "It was started anew once and failed again: `shard doctor` shows what the machine has, or "
    "choose a smaller model."
)
TEMPLATE_FAILS = "The server fails to apply this model's chat template: it is asked by examples."
TEMPLATE_DIFFERS = (
    "The server uses another chat template than the model's file has; it begins: {start}"
)
CLOSED = "The model was closed."
_SHOWN_TEMPLATE_CHARS = 60


@dataclass(frozen=True)
class LocalModel:
    """What a provider is made for.

    Attributes:
        timeout_seconds: silence after which a server is stuck.
        check_file: raises a `ShardError` when the file is no longer what it was; it may block.
    """

    route: RouteInfo
    header: GgufHeader
    spec: ServerSpec
    places: ModelPlaces
    timeout_seconds: float
    check_file: Callable[[], None] = lambda: None


class LocalProvider:
    """Implements `contracts.provider.Provider`. Belongs to the event loop of its first request."""

    def __init__(
        self,
        model: LocalModel,
        servers: Servers,
        chat: ProviderFactory,
        blobs: BlobStore | None = None,
        on_close: Callable[[], None] = lambda: None,
    ) -> None:
        self._model = model
        self._chat = chat
        self._blobs = blobs
        self._on_close = on_close
        self._wire = CompletionWire(model.timeout_seconds)
        self._opened = OpenedServer(servers, model.spec, model.places, model.check_file)
        self._asker: TinyAsker | ServerToolsAsker | None = None
        self._asks: RunningServer | None = None
        self._has_failed = False
        self._is_closed = False
        self._preparing = anyio.Lock()

    @property
    def route(self) -> RouteInfo:
        return self._model.route

    def __repr__(self) -> str:
        return f"LocalProvider({self.route.model_id!r})"

    async def aclose(self) -> None:
        self._is_closed = True
        await self._close_asker()
        await self._opened.aclose()
        await self._wire.aclose()
        self._on_close()

    async def stream(self, request: ProviderRequest) -> AsyncGenerator[ProviderEvent, None]:
        try:
            if self._is_closed:
                raise AgentClosed(CLOSED)
            async with aclosing(self._opened.open()) as notices:
                async for notice in notices:
                    yield notice
            async with aclosing(self._ask(request)) as events:
                async for event in events:
                    yield event if not isinstance(event, Failed) else await self._judge(event)
                    self._has_failed = self._has_failed and not isinstance(event, Answered)
        except ShardError as error:
            if isinstance(error, Bug):
                raise
            yield Failed(failure=_start_failure(error))
        except (RuntimeError, anyio.ClosedResourceError, anyio.BrokenResourceError):
            # Whoever closes the model closes the connections of requests that still run.
            if not self._is_closed:
                raise
            yield Failed(failure=_start_failure(AgentClosed(CLOSED)))

    async def _ask(self, request: ProviderRequest) -> AsyncGenerator[ProviderEvent, None]:
        lease = self._opened.lease
        if lease is None or self._is_closed:
            raise AgentClosed(CLOSED)
        server = lease.server
        async with self._preparing:
            notice = await self._prepare(server) if self._asks != server else None
            asker = self._asker
        assert asker is not None
        if notice is not None:
            yield notice
        if isinstance(asker, TinyAsker):
            events = asker.ask(request, partial(self._wire.complete, server))
        else:
            events = asker.ask(request)
        async with aclosing(events):
            async for event in events:
                yield event

    async def _prepare(self, server: RunningServer) -> ProviderNotice | None:
        """Choose how this server is asked. Says so when its template is of no use."""
        await self._close_asker()
        strategy = choose_strategy(self._model.header, server)
        notice = None
        if strategy == "server_tools":
            # A template that raises is replaced by ChatML, without a word, or fails each request.
            if await self._wire.try_template(server, PROBE):
                notice = _compare_templates(self._model.header.chat_template, server.chat_template)
            else:
                strategy = "examples"
                notice = ProviderNotice(code="template_unusable", message=TEMPLATE_FAILS)
        if strategy == "examples":
            tokens = server.context_tokens or self._model.spec.context_tokens
            self._asker = TinyAsker(self.route.model_id, tokens)
        else:
            self._asker = ServerToolsAsker(self.route.model_id, await self._make_chat(server))
        self._asks = server
        return notice

    async def _make_chat(self, server: RunningServer) -> Provider:
        settings = ProviderSettings(
            base_url=f"{server.base_url}/v1",
            api_key=server.api_key,
            timeout_seconds=self._model.timeout_seconds,
            context_window=self.route.context_window,
        )
        name = self.route.model_id.partition(":")[2]
        return await anyio.to_thread.run_sync(self._chat.create, name, settings, self._blobs)

    async def _close_asker(self) -> None:
        asker, self._asker, self._asks = self._asker, None, None
        if isinstance(asker, ServerToolsAsker):
            await asker.aclose()

    async def _judge(self, failed: Failed) -> Failed:
        """After a fault of the server, take a new one with the next attempt; but once only."""
        failure = failed.failure
        if failure.kind != "server":
            return failed
        await self._opened.drop()
        again, self._has_failed = self._has_failed, True
        update: dict[str, object] = {"retryable": not again, "retry_after_seconds": None}
        if again:
            update["next_step"] = RESTARTED_STEP
        else:
            update["retry_after_seconds"] = 0.0
        return Failed(failure=failure.model_copy(update=update))


def _start_failure(error: ShardError) -> ProviderFailure:
    """A server that did not come up says itself why and what to do."""
    return ProviderFailure(kind="server", message=error.message, next_step=error.next_step)


def _compare_templates(own: str, used: str) -> ProviderNotice | None:
    if not used.strip() or used.strip() == own.strip():
        return None
    start = " ".join(used.split())[:_SHOWN_TEMPLATE_CHARS]
    return ProviderNotice(code="template_differs", message=TEMPLATE_DIFFERS.format(start=start))
