"""A call on its way through the gate. Data only."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from shard_jupyter.contracts.permission_gate import GateRequest
from shard_jupyter.contracts.tool import Arguments, Tool
from shard_jupyter.contracts.tool_context import ToolContext
from shard_jupyter.core.permissions.pending_requests import Resolved
from shard_jupyter.types.content import ToolCallBlock
from shard_jupyter.types.decisions import Allow, Ask
from shard_jupyter.types.render_descriptors import RenderDescriptor
from shard_jupyter.types.tool_results import ToolResult


@dataclass(frozen=True)
class Question:
    """A question that was put to all clients, as the gate asked it.

    `names_network`: it said that the call may talk to other machines.
    """

    ask: Ask
    names_network: bool = False

    @property
    def request_id(self) -> str:
        return self.ask.request_id

    @property
    def covers(self) -> str:
        return self.ask.covers


@dataclass
class MessageCalls:
    """The calls of one message, which are asked for together.

    Attributes:
        wanted: what the model wrote.
        ready: those of them that may run, in their order, as far as they have been looked at.
        seen_always: how many answers for more than one call the open questions know of.
    """

    wanted: tuple[ToolCallBlock, ...]
    ready: list[ReadyCall] = field(default_factory=list)
    seen_always: int = 0

    def count_equal(self, call: ToolCallBlock) -> int:
        """How often the message holds this very call."""
        equal = (call.name, call.arguments, call.recovered)
        return sum((one.name, one.arguments, one.recovered) == equal for one in self.wanted)


@dataclass
class ReadyCall:
    """A call that may run if it is allowed.

    Attributes:
        arguments: parsed; a person may have changed them.
        render: the *before* view of exactly these arguments.
        question: open, or answered and not yet looked at.
        asked_early: what would have been asked as the message came, while a cassette answers.
        agreed: what a person, or the policy in place of one, has said yes to; see `Ask.covers`.
        allowed_by: the decision that counts: it tells in which form the call runs.
        twin: the equal call before it, whose question is this one's too.
        answered: how its question ended, where it had one.
        unkept: an answer that a cassette gets once it is known to hold.
        is_settled: the gate has closed the question, and that is on record.
        has_started: from now on it may have changed something.
        places: where its paths led when it was judged last.
    """

    call: ToolCallBlock
    tool: Tool
    context: ToolContext
    arguments: Arguments
    request: GateRequest
    message: MessageCalls
    render: tuple[RenderDescriptor, ...] = ()
    question: Question | None = None
    asked_early: Ask | None = None
    agreed: str = ""
    allowed_by: Allow | Ask | None = None
    is_edited: bool = False
    twin: ReadyCall | None = None
    answered: Resolved | None = None
    unkept: Resolved | None = None
    is_settled: bool = False
    has_started: bool = False
    places: tuple[str, ...] = ()

    def context_to_run(self) -> ToolContext:
        """The surroundings with the form in which the call was allowed: that and no other runs."""
        places = dict(zip(self.request.reach.paths, self.places, strict=False))
        context, terms = replace(self.context, places=places), self.allowed_by
        if terms is None:
            return context
        context = replace(context, command=terms.command, leaves_out=terms.leaves_out)
        if isinstance(terms, Ask):
            return replace(context, contents=terms.contents)
        return replace(context, is_confined=terms.is_confined)


PreparedCall = ReadyCall | ToolResult
"""A result: the call cannot run at all, and this is why."""
