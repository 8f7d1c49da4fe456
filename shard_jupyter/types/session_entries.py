"""The lines of a session log (Shard §10).

Every entry has `id`, `parentId`, `timestamp` and `type`. The log is append-only: history is the
chain of parents from the active leaf, and nothing in it is ever rewritten.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from shard_jupyter.types.content import ContentBlock, ResultPart
from shard_jupyter.types.decisions import Decision, Grant
from shard_jupyter.types.ids import Id
from shard_jupyter.types.render_descriptors import RenderDescriptor
from shard_jupyter.types.tool_results import ResultStatus
from shard_jupyter.types.turns import ErrorInfo, Outcome
from shard_jupyter.types.usage import TokenUsage, UsageTotals
from shard_jupyter.types.wire_model import KeptModel, Unknown, open_union

LOG_VERSION = 1


class Entry(KeptModel):
    """Common part. `timestamp` is UTC, RFC 3339; order is file order, never the clock."""

    id: Id
    parent_id: Id | None = Field(default=None, alias="parentId")
    timestamp: str


class SessionHeader(Entry):
    """First line of a log."""

    type: Literal["session"] = "session"
    version: int = LOG_VERSION
    session_id: Id
    agent_id: Id
    cwd: str
    package_version: str = ""


class MessageEntry(Entry):
    """A user or assistant message. `role` user with `steer` true came in the middle of a turn."""

    type: Literal["message"] = "message"
    turn_id: Id
    role: Literal["user", "assistant"]
    content: tuple[ContentBlock, ...]
    model: str = ""
    stop_reason: str = ""
    tokens: TokenUsage | None = None
    steer: bool = False


class IntentEntry(Entry):
    """Written and synced before a mutating call runs, so that a crash leaves a trace."""

    type: Literal["tool_intent"] = "tool_intent"
    turn_id: Id
    call_id: Id
    name: str


class ToolResultEntry(Entry):
    type: Literal["tool_result"] = "tool_result"
    turn_id: Id
    call_id: Id
    name: str
    content: tuple[ResultPart, ...]
    is_error: bool = False
    status: ResultStatus = "ok"
    render: tuple[RenderDescriptor, ...] = ()
    details: dict[str, Any] = Field(default_factory=dict)


class PermissionEntry(Entry):
    """A decision about one call, and who made it. A request is written with decision Ask."""

    type: Literal["permission"] = "permission"
    turn_id: Id
    call_id: Id
    request_id: Id | None = None
    decision: Decision
    by: str = ""
    """`gate`, `headless`, `cassette`, `shard` where nobody answered, or who did."""
    arguments: dict[str, Any] | None = None
    """What a person made of the call's arguments; the call then ran with these."""


class CheckpointEntry(Entry):
    """Something kept on the lineage: a plan, a mode change, a skill activation."""

    type: Literal["checkpoint"] = "checkpoint"
    artifact_kind: str
    artifact: dict[str, Any] = Field(default_factory=dict)


class CompactionEntry(Entry):
    """A span of history and the summary that stands for it (Shard §11)."""

    type: Literal["compaction"] = "compaction"
    index: int
    summary: dict[str, Any]
    message_range: tuple[Id, Id]
    first_kept_id: Id
    compactor: str
    tokens_before: int | None = None
    tokens_after: int | None = None


class GrantEntry(Entry):
    type: Literal["grant"] = "grant"
    grant: Grant


class TurnEndEntry(Entry):
    type: Literal["turn_end"] = "turn_end"
    turn_id: Id
    outcome: Outcome
    error: ErrorInfo | None = None
    usage: UsageTotals = UsageTotals()


if TYPE_CHECKING:
    SessionEntry = (
        SessionHeader
        | MessageEntry
        | IntentEntry
        | ToolResultEntry
        | PermissionEntry
        | CheckpointEntry
        | CompactionEntry
        | GrantEntry
        | TurnEndEntry
        | Unknown
    )
else:
    SessionEntry = open_union(
        "type",
        SessionHeader,
        MessageEntry,
        IntentEntry,
        ToolResultEntry,
        PermissionEntry,
        CheckpointEntry,
        CompactionEntry,
        GrantEntry,
        TurnEndEntry,
    )
