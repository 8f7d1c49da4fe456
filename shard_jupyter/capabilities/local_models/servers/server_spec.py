"""What is served, and what is known of a server that is up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from shard_jupyter.capabilities.local_models.engines.engine import Dialect
from shard_jupyter.capabilities.local_models.model_places import ModelPlaces
from shard_jupyter.errors import Bug

Tell = Callable[[str], None]
"""Takes what a person should know while a server starts."""


@dataclass(frozen=True)
class ServerSpec:
    """Two agents that want the same share one server.

    Attributes:
        context_tokens: from the plan. Zero would mean the trained context, whatever memory says.
    """

    model_path: Path
    title: str
    size_bytes: int
    context_tokens: int

    def __post_init__(self) -> None:
        if self.context_tokens < 1:
            raise Bug(f"a server was asked for with a context of {self.context_tokens} tokens")


@dataclass(frozen=True)
class RunningServer:
    """A server that has answered us with our key.

    Attributes:
        base_url: `http://127.0.0.1:PORT`, without a path.
        context_tokens: what the server says, not what was asked for.
        supports_tools: its chat template takes tools, by its own word; None: it does not say.
        chat_template: the one it uses, empty when it does not say.
    """

    base_url: str
    api_key: str = field(repr=False)
    dialect: Dialect
    context_tokens: int
    supports_tools: bool | None
    chat_template: str


class Lease(Protocol):
    """The right to use a server, which stays up as long as anybody has one."""

    @property
    def server(self) -> RunningServer: ...

    async def is_up(self) -> bool:
        """Look whether the server still runs; if not, acquire anew and release this lease."""
        ...

    async def release(self) -> None:
        """Give it back; the last one stops the server and waits for its end. Idempotent."""
        ...


class Servers(Protocol):
    """The servers of this process."""

    async def acquire(self, spec: ServerSpec, tell: Tell, *, places: ModelPlaces) -> Lease:
        """Start the server, or share the one that runs. A dead one is started anew.

        `tell` is called on the caller's event loop.

        Cancellation gives up the wait; when nobody else waits, the server is stopped.

        Raises:
            UserError: no engine, or the server did not come up; says why and what to do.
        """
        ...
