"""What a client may say to one agent (Shard §7.2, DESIGN §5).

Unknown fields are ignored, so that a newer client can talk to an older agent. Everything known
is strict: no truthiness, no number for a text, exact values where there is a closed list.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, StrictBool, model_validator

from shard_jupyter.types.decisions import AskSetting, KeepScope
from shard_jupyter.types.ids import Id
from shard_jupyter.types.tool_results import ToolResult
from shard_jupyter.types.wire_model import WireModel

Cursor = Annotated[int, Field(strict=True, ge=0, le=2**53 - 1)]
"""A `seq`; 0 is before the first event."""
Text = Annotated[str, Field(min_length=1)]
Name = Annotated[str, Field(min_length=1, max_length=200)]


class Command(WireModel):
    v: Literal[1] = 1
    id: Id
    """Chosen by the client, echoed as `re` of the one reply."""


class AgentCommand(Command):
    agent_id: Id


class Prompt(AgentCommand):
    """Start a turn. The reply comes when the prompt is on disk; the turn's end is an event."""

    type: Literal["prompt"] = "prompt"
    text: Text
    turn_id: Id | None = None
    """The id that the turn gets; null: the agent makes one."""
    when_busy: Literal["refuse", "queue"] = "refuse"
    ask: AskSetting | None = None
    """Who decides in this turn what no rule covers; null: as the agent was made."""
    timeout_seconds: Annotated[float, Field(gt=0)] | None = None
    """After which the turn is stopped; null: no limit."""
    budget: Annotated[str, Field(max_length=64)] | None = None
    """What this turn may use, as `200k` tokens or `$1.50`; null: no limit of its own."""
    record: Annotated[str, Field(min_length=1)] | None = None
    """Absolute path of the cassette that this turn is recorded into."""


class Steer(AgentCommand):
    """Put a text into the named turn at its next model call, or get a conflict."""

    type: Literal["steer"] = "steer"
    turn_id: Id
    text: Text


class Subscribe(AgentCommand):
    """Get the events of the agent: committed ones after `cursor`, then what comes."""

    type: Literal["subscribe"] = "subscribe"
    cursor: Cursor | None = None
    """The last `seq` that the client has; null: only what comes from now on."""
    deltas: StrictBool = True
    """False: no ephemeral events."""


class PermissionResponse(AgentCommand):
    """Answer a permission request. The first answer counts, a late one is discarded."""

    type: Literal["permission_response"] = "permission_response"
    request_id: Id
    decision: Literal["allow", "allow_always", "deny"]
    rule: dict[str, Any] | None = None
    """With `allow_always`: one of the request's `offered_rules`, unchanged."""
    keep: KeepScope = "session"
    """With `allow_always`: how long it holds."""
    note: str = ""
    """What the model is told, for instance why not."""
    arguments: dict[str, Any] | None = None
    """With `allow`: run these arguments instead. They are judged anew."""

    @model_validator(mode="after")
    def check_extras(self) -> Self:
        if self.rule is not None and self.decision != "allow_always":
            raise ValueError("a rule goes with allow_always only")
        if self.arguments is not None and self.decision != "allow":
            raise ValueError("edited arguments go with allow only")
        return self


class UiResponse(AgentCommand):
    """Answer a dialog. The first answer counts, a late one is discarded."""

    type: Literal["ui_response"] = "ui_response"
    request_id: Id
    value: Any = None
    """The choice, the text or the truth value; null: dismissed."""


class ToolResponse(AgentCommand):
    """What came of a `tool_request`: this client hosts the tool."""

    type: Literal["tool_response"] = "tool_response"
    request_id: Id
    result: ToolResult


class Abort(AgentCommand):
    """End the running turn; with `turn_id` only if it is that one."""

    type: Literal["abort"] = "abort"
    turn_id: Id | None = None


SessionOpName = Literal[
    "compact", "fork", "list", "branch", "switch", "tree", "undo", "grants", "revoke"
]


class SessionOp(AgentCommand):
    """Do something with the conversation as a whole. No operation deletes history.

    compact: fold the active branch now. fork: copy it into a new agent. list: a page of the
    active branch, newest first. branch: go on from an earlier entry. switch: make another
    branch's leaf the active one. tree: all branches. undo: put back the files that a turn changed.
    grants: what people have allowed until this conversation is closed. revoke: take that back.
    """

    type: Literal["session_op"] = "session_op"
    op: SessionOpName
    entry_id: Id | None = None
    """branch, switch: where to; fork: up to here (null: the leaf); list: entries before it."""
    turn_id: Id | None = None
    """undo: which turn; null: the last one."""
    grant_id: Id | None = None
    """revoke: which grant; null: all of them."""
    name: Name | None = None
    """fork: name of the new agent."""
    limit: Annotated[int, Field(strict=True, ge=1, le=1000)] = 150
    """list: most entries in the page."""

    @model_validator(mode="after")
    def check_entry(self) -> Self:
        if self.op in ("branch", "switch") and self.entry_id is None:
            raise ValueError(f"{self.op} needs entry_id")
        return self


class SetMode(AgentCommand):
    type: Literal["set_mode"] = "set_mode"
    mode: Name


class SetModel(AgentCommand):
    type: Literal["set_model"] = "set_model"
    model: Name
    """Routing id, `provider:model`."""


class Rename(AgentCommand):
    type: Literal["rename"] = "rename"
    name: Name


class QueueList(AgentCommand):
    """List the prompts that wait for the running turn to end."""

    type: Literal["queue_list"] = "queue_list"


class QueueEdit(AgentCommand):
    type: Literal["queue_edit"] = "queue_edit"
    item_id: Id
    text: Text


class QueueRemove(AgentCommand):
    type: Literal["queue_remove"] = "queue_remove"
    item_id: Id


AGENT_COMMANDS: tuple[type[AgentCommand], ...] = (
    Prompt,
    Steer,
    Subscribe,
    PermissionResponse,
    UiResponse,
    ToolResponse,
    Abort,
    SessionOp,
    SetMode,
    SetModel,
    Rename,
    QueueList,
    QueueEdit,
    QueueRemove,
)
