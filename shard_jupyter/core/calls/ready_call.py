"""A call on its way through the gate. Data only."""

from __future__ import annotations

from dataclasses import dataclass

from shard_jupyter.contracts.permission_gate import GateRequest
from shard_jupyter.contracts.tool import Arguments, Tool
from shard_jupyter.contracts.tool_context import ToolContext
from shard_jupyter.types.content import ToolCallBlock
from shard_jupyter.types.decisions import Ask
from shard_jupyter.types.render_descriptors import RenderDescriptor
from shard_jupyter.types.tool_results import ToolResult


@dataclass(frozen=True)
class Question:
    """A question that was put to all clients. `covers`: see `Ask`."""

    request_id: str
    covers: str


@dataclass
class ReadyCall:
    """A call that may run if it is allowed.

    Attributes:
        arguments: parsed; a person may have changed them.
        render: the *before* view of exactly these arguments.
        question: open, or answered and not yet looked at.
        asked_early: what would have been asked as the message came, while a cassette answers.
        agreed: what a person, or the policy in place of one, has said yes to; see `Ask.covers`.
        has_started: from now on it may have changed something.
    """

    call: ToolCallBlock
    tool: Tool
    context: ToolContext
    arguments: Arguments
    request: GateRequest
    render: tuple[RenderDescriptor, ...] = ()
    question: Question | None = None
    asked_early: Ask | None = None
    agreed: str = ""
    is_edited: bool = False
    has_started: bool = False


PreparedCall = ReadyCall | ToolResult
"""A result: the call cannot run at all, and this is why."""
