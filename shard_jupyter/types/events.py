"""Everything an agent says (Shard §7.2), as plain data told apart by `type`.

Durable events get a `seq` from the daemon's store; deltas never do. A delta carries
`(turn_id, item_id, offset)`, so that a client can drop what it already has (DESIGN §5).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from shard_jupyter.types.content import ContentBlock, ResultPart
from shard_jupyter.types.decisions import Decision, Rule
from shard_jupyter.types.ids import Id
from shard_jupyter.types.render_descriptors import ApprovalDescriptor, RenderDescriptor
from shard_jupyter.types.tool_results import ResultStatus
from shard_jupyter.types.turns import Denial, ErrorInfo, Outcome
from shard_jupyter.types.usage import TokenUsage, UsageTotals
from shard_jupyter.types.wire_model import KeptModel, Unknown, open_union

PROTOCOL_VERSION = 1


class Event(KeptModel):
    v: Literal[1] = 1
    agent_id: Id
    turn_id: Id | None = None
    seq: int | None = Field(default=None, ge=0, le=2**53 - 1)


class TurnStart(Event):
    type: Literal["turn_start"] = "turn_start"
    prompt: str
    model: str
    mode: str


class MessageDelta(Event):
    """A piece of an answer being written. `channel` tells text from reasoning and arguments.

    `offset` counts the characters (code points) that were sent before, of the same item and
    channel, and of the same call where it is arguments.
    """

    type: Literal["message_delta"] = "message_delta"
    item_id: str
    offset: int
    text: str
    channel: Literal["text", "thinking", "tool_call"] = "text"
    call_id: Id | None = None
    tool: str = ""


class MessageDiscarded(Event):
    """The deltas of `item_id` belong to an answer that was cut or stopped: it is void."""

    type: Literal["message_discarded"] = "message_discarded"
    item_id: str
    reason: str


class MessageComplete(Event):
    type: Literal["message_complete"] = "message_complete"
    entry_id: Id
    item_id: str
    content: tuple[ContentBlock, ...]
    stop_reason: str = ""


class ToolCallEvent(Event):
    """A call is about to be judged; `render` is its *before* view.

    It comes again, with the same `call_id`, when a person has changed the arguments.
    """

    type: Literal["tool_call"] = "tool_call"
    call_id: Id
    tool: str
    arguments: dict[str, Any]
    render: tuple[RenderDescriptor, ...] = ()
    recovered: bool = False
    """It was read from the model's text, not from a call."""


class ToolProgress(Event):
    """Ephemeral: output of a running tool, as it comes."""

    type: Literal["tool_progress"] = "tool_progress"
    call_id: Id
    text: str = ""
    render: tuple[RenderDescriptor, ...] = ()


class ToolResultEvent(Event):
    type: Literal["tool_result"] = "tool_result"
    entry_id: Id
    call_id: Id
    tool: str
    status: ResultStatus
    is_error: bool
    content: tuple[ResultPart, ...]
    render: tuple[RenderDescriptor, ...] = ()
    details: dict[str, Any] = Field(default_factory=dict)


class PermissionRequest(Event):
    """Somebody must decide. `offered_rules` are the only rules an answer may store."""

    type: Literal["permission_request"] = "permission_request"
    request_id: Id
    call_id: Id
    tool: str
    prompt: str
    arguments: dict[str, Any]
    render: tuple[RenderDescriptor, ...] = ()
    why: str = ""
    offered_rules: tuple[Rule, ...] = ()
    would_allow: str = ""
    """The rule, as JSON, that a rule file would need to allow it; empty when none can."""
    expires_at: str | None = None
    recovered: bool = False
    """The call was read from the model's text: show that with the question."""
    approval: ApprovalDescriptor | None = None
    """All that a person has to know, for a client to draw; None from an older peer."""


class PermissionResolved(Event):
    type: Literal["permission_resolved"] = "permission_resolved"
    request_id: Id
    call_id: Id
    decision: Decision
    by: str


class UiRequest(Event):
    type: Literal["ui_request"] = "ui_request"
    request_id: Id
    dialog: Literal["select", "confirm", "input", "editor", "notify"]
    title: str
    text: str = ""
    options: tuple[str, ...] = ()


class UiResolved(Event):
    type: Literal["ui_resolved"] = "ui_resolved"
    request_id: Id
    value: Any = None
    by: str = ""


class SteerInjected(Event):
    type: Literal["steer_injected"] = "steer_injected"
    entry_id: Id
    text: str


class UsageEvent(Event):
    type: Literal["usage"] = "usage"
    model: str
    tokens: TokenUsage
    cost_usd: float | None = None
    totals: UsageTotals
    context_tokens: int | None = None
    context_window: int | None = None


class FilesChanged(Event):
    type: Literal["files_changed"] = "files_changed"
    call_id: Id
    paths: tuple[str, ...]


class ModelSwitched(Event):
    type: Literal["model_switched"] = "model_switched"
    old_model: str
    new_model: str


class ModeChanged(Event):
    type: Literal["mode_changed"] = "mode_changed"
    old_mode: str
    new_mode: str


class RetryScheduled(Event):
    """The model call failed and is made again after `delay_seconds`."""

    type: Literal["retry_scheduled"] = "retry_scheduled"
    attempt: int
    delay_seconds: float
    error: ErrorInfo


class LimitReached(Event):
    type: Literal["limit_reached"] = "limit_reached"
    limit: Literal["budget_tokens", "budget_usd", "provider", "context", "timeout"]
    message: str
    resets_at: str | None = None


class RoutingSelected(Event):
    type: Literal["routing_selected"] = "routing_selected"
    model: str
    provider: str
    cloud: bool


class CompactionEvent(Event):
    type: Literal["compaction"] = "compaction"
    entry_id: Id
    index: int
    tokens_before: int | None = None
    tokens_after: int | None = None


class StatusEvent(Event):
    type: Literal["status"] = "status"
    status: Literal["idle", "streaming", "waiting-for-permission", "error"]


class Notice(Event):
    """Something a person should know: a repair, a shortened output, a mode of failure."""

    type: Literal["notice"] = "notice"
    code: str
    message: str
    tone: Literal["info", "warn", "error"] = "info"


class TurnEnd(Event):
    type: Literal["turn_end"] = "turn_end"
    outcome: Outcome
    text: str = ""
    error: ErrorInfo | None = None
    usage: UsageTotals = UsageTotals()
    denials: tuple[Denial, ...] = ()
    changed_paths: tuple[str, ...] = ()


EVENT_TYPES: tuple[type[Event], ...] = (
    TurnStart,
    MessageDelta,
    MessageDiscarded,
    MessageComplete,
    ToolCallEvent,
    ToolProgress,
    ToolResultEvent,
    PermissionRequest,
    PermissionResolved,
    UiRequest,
    UiResolved,
    SteerInjected,
    UsageEvent,
    FilesChanged,
    ModelSwitched,
    ModeChanged,
    RetryScheduled,
    LimitReached,
    RoutingSelected,
    CompactionEvent,
    StatusEvent,
    Notice,
    TurnEnd,
)
EPHEMERAL: frozenset[str] = frozenset({"message_delta", "tool_progress"})

if TYPE_CHECKING:
    AgentEvent = (
        TurnStart
        | MessageDelta
        | MessageDiscarded
        | MessageComplete
        | ToolCallEvent
        | ToolProgress
        | ToolResultEvent
        | PermissionRequest
        | PermissionResolved
        | UiRequest
        | UiResolved
        | SteerInjected
        | UsageEvent
        | FilesChanged
        | ModelSwitched
        | ModeChanged
        | RetryScheduled
        | LimitReached
        | RoutingSelected
        | CompactionEvent
        | StatusEvent
        | Notice
        | TurnEnd
        | Unknown
    )
else:
    AgentEvent = open_union("type", *EVENT_TYPES)
