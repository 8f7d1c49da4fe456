"""A capability the model can invoke (Shard §4.1). Every origin produces this one shape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Protocol

from pydantic import Field

from shard_jupyter.contracts.tool_context import ToolContext
from shard_jupyter.types.render_descriptors import RenderDescriptor
from shard_jupyter.types.tool_results import ToolResult
from shard_jupyter.types.wire_model import WireModel

Arguments = Mapping[str, Any]


class ToolSpec(WireModel):
    """What a model is told of a tool."""

    name: str
    description: str
    input_schema: dict[str, Any]


class Reach(WireModel):
    """Where one call reaches, for the gate. Says too much rather than too little.

    `kind` is the strongest thing the call may do. `paths` are as the model gave them.
    """

    kind: Literal["read", "write", "execute", "network", "none"]
    paths: tuple[str, ...] = ()
    command: str | None = None
    """The exact text a shell would get."""
    obeys_context: bool = False
    """The tool runs what `ToolContext.command` says, and looks at nothing in `leaves_out`."""
    asks_network: bool = False
    """The call asks for the network where a sandbox would deny it. Only a person's yes lifts that."""
    asks_unconfined: bool = False
    """The call asks to run outside the sandbox. Only a person's yes allows that."""
    summary: str = Field(default="")
    """One line for a person: `write src/app.py`."""


class Tool(Protocol):
    """Implementations hold no state of a call; one instance serves all calls of an agent."""

    @property
    def spec(self) -> ToolSpec: ...

    @property
    def is_read_only(self) -> bool:
        """True: never changes anything, so that plan mode may offer it."""
        ...

    def parse(self, arguments: Arguments) -> Arguments:
        """Check and normalise arguments; pure.

        Raises:
            ToolInputError: they do not fit; the text tells the model what would.
        """
        ...

    def reach(self, arguments: Arguments) -> Reach:
        """Say where a call with parsed arguments reaches; pure."""
        ...

    async def preview(
        self, arguments: Arguments, context: ToolContext
    ) -> tuple[RenderDescriptor, ...]:
        """Show what is about to happen. Changes nothing; raises nothing but cancellation."""
        ...

    async def execute(self, arguments: Arguments, context: ToolContext) -> ToolResult:
        """Do it. Arguments are parsed, the gate has allowed it.

        `ModelVisibleError` becomes an error result. Any other exception is a fault of the tool,
        reported to the model as such and to the person by a notice.

        Cancellation must leave no descendant running and no half-written file.
        """
        ...
