"""The only way anything gets into the harness (Shard §4.11). Built-ins use it too.

Registrations made during an install belong to the installing extension. The same key again
replaces the earlier one and is recorded as `replaced`; nothing is ever dropped silently.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal, Protocol

from shard_jupyter.contracts.code_intelligence import CodeIntelligenceProvider
from shard_jupyter.contracts.compactor import Compactor
from shard_jupyter.contracts.event_bus import Subscriber
from shard_jupyter.contracts.extractor import Extractor
from shard_jupyter.contracts.mode import Mode, TurnEndExtractor
from shard_jupyter.contracts.process_runner import SandboxProvider
from shard_jupyter.contracts.provider import ProviderFactory
from shard_jupyter.contracts.tool import Tool
from shard_jupyter.types.wire_model import WireModel

Disposer = Callable[[], Awaitable[None] | None]


class ExtensionIdentity(WireModel):
    """Who registers. `source` is a module name or a canonical path."""

    name: str
    source: str
    layer: Literal["bundled", "user", "project"] = "bundled"


class ExtensionApi(Protocol):
    def on(self, event_type: str, handler: Subscriber) -> None:
        """Listen to one event type, or to all with `*`."""
        ...

    def register_tool(self, tool: Tool) -> None:
        """Key: the tool's name."""
        ...

    def register_mode(self, mode: Mode) -> None:
        """Key: the mode's name."""
        ...

    def register_turn_end_extractor(self, name: str, extractor: TurnEndExtractor) -> None:
        """Key: `name`, as modes refer to it."""
        ...

    def register_provider(self, factory: ProviderFactory) -> None:
        """Key: the prefix of its routing ids."""
        ...

    def register_compactor(self, compactor: Compactor) -> None:
        """Key: its name; the last one registered is used."""
        ...

    def register_extractor(self, extractor: Extractor) -> None:
        """Key: its name."""
        ...

    def register_sandbox(self, provider: SandboxProvider) -> None:
        """Key: its name. Providers are tried in the order in which they were registered."""
        ...

    def register_code_intelligence(self, provider: CodeIntelligenceProvider) -> None:
        """One; the last one registered is used."""
        ...


Setup = Callable[[ExtensionApi], Disposer | None | Awaitable[Disposer | None]]
"""What an extension is: may await between registrations, may return a disposer."""
