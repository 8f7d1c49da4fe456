"""One provider for all three protocols: what differs is the body and the reader of events."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Protocol

from shard_jupyter.capabilities.model_providers.routes import (
    Vendor,
    base_url_of,
    check_usable,
    describe_route,
)
from shard_jupyter.capabilities.model_providers.sdk_wire import SdkWire, WireEvent, drain
from shard_jupyter.capabilities.model_providers.wire.wire_content import Images, load_images
from shard_jupyter.capabilities.model_providers.wire.wire_history import WireHistory
from shard_jupyter.contracts.provider import (
    Answered,
    Failed,
    Provider,
    ProviderEvent,
    ProviderFailure,
    ProviderRequest,
    ProviderSettings,
    RouteInfo,
)
from shard_jupyter.contracts.tool_context import BlobStore
from shard_jupyter.errors import ConfigError


class EventReader(Protocol):
    """Turns the events of one answer into ours. Pure; one for each answer."""

    @property
    def error(self) -> object:
        """The error that an event told of; None while all is well."""
        ...

    @property
    def ended(self) -> bool:
        """An event said that nothing follows."""
        ...

    def take(self, event: WireEvent) -> Sequence[ProviderEvent]: ...

    def finish(self) -> Answered | ProviderFailure:
        """Say what it came to; called once, when the connection ended in good order."""
        ...


BuildBody = Callable[
    [ProviderRequest, RouteInfo, ProviderSettings, Images, WireHistory | None], dict[str, Any]
]


@dataclass(frozen=True)
class WireProtocol:
    """The parts in which the protocols differ."""

    path: str
    build_body: BuildBody
    make_reader: Callable[[str], EventReader]
    """Takes the route's model id."""


class SdkProvider:
    """A `Provider` over one SDK client. Requests may overlap."""

    def __init__(
        self,
        route: RouteInfo,
        settings: ProviderSettings,
        protocol: WireProtocol,
        wire: SdkWire,
        blobs: BlobStore | None,
    ) -> None:
        self._route = route
        self._settings = settings
        self._protocol = protocol
        self._wire = wire
        self._blobs = blobs
        self._history = WireHistory()

    @property
    def route(self) -> RouteInfo:
        return self._route

    async def aclose(self) -> None:
        await self._wire.aclose()

    async def stream(self, request: ProviderRequest) -> AsyncGenerator[ProviderEvent, None]:
        images = await load_images(self._history.find_images(request.messages), self._blobs)
        body = self._protocol.build_body(
            request, self._route, self._settings, images, self._history
        )
        content = self._history.encode_body(body)
        reader = self._protocol.make_reader(self._route.model_id)
        async with aclosing(self._wire.ask(self._protocol.path, content)) as events:
            async for event in events:
                if isinstance(event, ProviderFailure):
                    yield Failed(failure=event)
                    return
                for shown in reader.take(event):
                    yield shown
                if reader.error is not None:
                    yield Failed(failure=self._wire.read_error(reader.error))
                    return
                if reader.ended:
                    await drain(events)
                    break
        outcome = reader.finish()
        yield Failed(failure=outcome) if isinstance(outcome, ProviderFailure) else outcome


@dataclass(frozen=True)
class SdkFactory:
    """A `ProviderFactory` for one prefix."""

    vendor: Vendor
    protocol: WireProtocol

    @property
    def prefix(self) -> str:
        return self.vendor.prefix

    def describe(self, model: str, settings: ProviderSettings) -> RouteInfo:
        return describe_route(self.vendor, model, settings)

    def create(
        self, model: str, settings: ProviderSettings, blobs: BlobStore | None = None
    ) -> Provider:
        route = self.describe(model, settings)
        check_usable(self.vendor, route, settings)
        package = self.vendor.package
        try:
            wire = SdkWire(package, base_url_of(self.vendor, settings), settings)
        except ImportError as error:  # it is there, but something that it needs is not
            raise ConfigError(
                f"The package {package!r} cannot be loaded: {error}.",
                code="needs_install",
                next_step=f"pip install --force-reinstall {package}",
            ) from error
        return SdkProvider(route, settings, self.protocol, wire, blobs)
