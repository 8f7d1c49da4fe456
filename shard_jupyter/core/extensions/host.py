"""Installs extensions and keeps what they registered (Shard §15).

`install` is the only way in, for what is bundled as for what a user brings. Each install gets an
`ExtensionApi` of its own, so that a registration made after an `await` is still attributed to the
right extension. The same key again replaces: the last one wins, and both are in `diagnostics`.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any, TypeVar

from shard_jupyter.contracts.code_intelligence import CodeIntelligenceProvider
from shard_jupyter.contracts.compactor import Compactor
from shard_jupyter.contracts.event_bus import Subscriber
from shard_jupyter.contracts.extension_api import Disposer, ExtensionIdentity, Setup
from shard_jupyter.contracts.extractor import Extractor
from shard_jupyter.contracts.mode import Mode, TurnEndExtractor
from shard_jupyter.contracts.process_runner import SandboxProvider
from shard_jupyter.contracts.provider import ProviderFactory
from shard_jupyter.contracts.tool import Tool
from shard_jupyter.core.extensions.diagnostics import (
    Diagnostic,
    FaultDiagnostic,
    RegistrationDiagnostic,
    SeamName,
)
from shard_jupyter.errors import Bug
from shard_jupyter.types.events import AgentEvent

Item = TypeVar("Item")


@dataclass(frozen=True)
class ExtensionSnapshot:
    """All that is registered, in order of first registration; plain copies."""

    extensions: tuple[ExtensionIdentity, ...]
    tools: dict[str, Tool]
    modes: dict[str, Mode]
    turn_end_extractors: dict[str, TurnEndExtractor]
    providers: dict[str, ProviderFactory]
    compactors: dict[str, Compactor]
    extractors: dict[str, Extractor]
    sandboxes: dict[str, SandboxProvider]
    code_intelligence: CodeIntelligenceProvider | None
    diagnostics: tuple[Diagnostic, ...]


class ExtensionHost:
    """Owned by whoever assembles a session, who also closes it."""

    def __init__(self) -> None:
        self.extensions: list[ExtensionIdentity] = []
        self.diagnostics: list[Diagnostic] = []
        self._items: dict[SeamName, dict[str, tuple[ExtensionIdentity, Any]]] = {}
        self._handlers: list[tuple[ExtensionIdentity, str, Subscriber]] = []
        self._disposers: list[tuple[ExtensionIdentity, Disposer]] = []

    async def install(self, identity: ExtensionIdentity, setup: Setup) -> bool:
        """Run `setup`; False when it raised, which is in `diagnostics`.

        Whole or not at all: what a failed one had registered by then is not there.
        """
        api = _InstallApi(identity)
        try:
            disposer = setup(api)
            if inspect.isawaitable(disposer):
                disposer = await disposer
        except Bug:
            raise
        except Exception as error:  # noqa: BLE001 - the fault boundary around foreign code
            self._note_fault("setup_failed", identity, error)
            return False
        finally:
            registrations = api.close()
        for seam, key, item in registrations:
            self._add(identity, seam, key, item)
        if disposer is not None:
            self._disposers.append((identity, disposer))
        self.extensions.append(identity)
        return True

    def snapshot(self) -> ExtensionSnapshot:
        intelligence = self._values("code_intelligence")
        return ExtensionSnapshot(
            extensions=tuple(self.extensions),
            tools=self._values("tool"),
            modes=self._values("mode"),
            turn_end_extractors=self._values("turn_end_extractor"),
            providers=self._values("provider"),
            compactors=self._values("compactor"),
            extractors=self._values("extractor"),
            sandboxes=self._values("sandbox"),
            code_intelligence=intelligence.get("code_intelligence"),
            diagnostics=tuple(self.diagnostics),
        )

    def handle_event(self, event: AgentEvent) -> None:
        """Give an event to the handlers that extensions registered. Subscribe this to a bus.

        A handler that raises gets no more: it would raise again at each of thousands of deltas.
        """
        event_type = getattr(event, "type", "")
        for registered in tuple(self._handlers):
            identity, wanted, handler = registered
            if wanted not in ("*", event_type):
                continue
            try:
                handler(event)
            except Exception as error:  # noqa: BLE001 - the fault boundary around foreign code
                self._handlers.remove(registered)
                self._note_fault("handler_failed", identity, error)

    async def aclose(self) -> None:
        """Run disposers in reverse order; one that raises does not starve the rest."""
        while self._disposers:
            identity, disposer = self._disposers.pop()
            try:
                outcome = disposer()
                if inspect.isawaitable(outcome):
                    await outcome
            except Exception as error:  # noqa: BLE001 - the fault boundary around foreign code
                self._note_fault("disposer_failed", identity, error)

    def _add(self, identity: ExtensionIdentity, seam: SeamName, key: str, item: Any) -> None:  # noqa: ANN401 - what the seam takes
        earlier = None
        if seam == "event_handler":
            self._handlers.append((identity, key, item))
        else:
            items = self._items.setdefault(seam, {})
            earlier = items.get(key)
            items[key] = (identity, item)
        self.diagnostics.append(
            RegistrationDiagnostic(
                kind="replaced" if earlier else "registered",
                seam=seam,
                key=key,
                extension=identity.name,
                replaced=earlier[0].name if earlier else None,
            )
        )

    def _values(self, seam: SeamName) -> dict[str, Any]:
        return {key: item for key, (_, item) in self._items.get(seam, {}).items()}

    def _note_fault(self, kind: Any, identity: ExtensionIdentity, error: Exception) -> None:  # noqa: ANN401
        message = f"{type(error).__name__}: {error}"
        self.diagnostics.append(
            FaultDiagnostic(
                kind=kind, extension=identity.name, source=identity.source, message=message
            )
        )


class _InstallApi:
    """The `ExtensionApi` of one install; of no use once the install is over."""

    def __init__(self, identity: ExtensionIdentity) -> None:
        self._identity = identity
        self._made: list[tuple[SeamName, str, Any]] = []
        self._is_open = True

    def close(self) -> list[tuple[SeamName, str, Any]]:
        """Take nothing more; return what was registered, in order."""
        self._is_open = False
        return self._made

    def on(self, event_type: str, handler: Subscriber) -> None:
        self._add("event_handler", event_type, handler)

    def register_tool(self, tool: Tool) -> None:
        self._add("tool", tool.spec.name, tool)

    def register_mode(self, mode: Mode) -> None:
        self._add("mode", mode.name, mode)

    def register_turn_end_extractor(self, name: str, extractor: TurnEndExtractor) -> None:
        self._add("turn_end_extractor", name, extractor)

    def register_provider(self, factory: ProviderFactory) -> None:
        self._add("provider", factory.prefix, factory)

    def register_compactor(self, compactor: Compactor) -> None:
        self._add("compactor", compactor.name, compactor)

    def register_extractor(self, extractor: Extractor) -> None:
        self._add("extractor", extractor.name, extractor)

    def register_sandbox(self, provider: SandboxProvider) -> None:
        self._add("sandbox", provider.name, provider)

    def register_code_intelligence(self, provider: CodeIntelligenceProvider) -> None:
        self._add("code_intelligence", "code_intelligence", provider)

    def _add(self, seam: SeamName, key: str, item: object) -> None:
        if not self._is_open:
            name = self._identity.name
            message = f"Extension {name!r} registered something after its setup had ended."
            raise RuntimeError(message)
        self._made.append((seam, key, item))
