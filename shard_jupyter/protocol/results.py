"""What an ok reply holds, command by command."""

from __future__ import annotations

from shard_jupyter.contracts.runtime import SteerReply
from shard_jupyter.protocol.envelope import EmptyResult
from shard_jupyter.protocol.handshake import Welcome
from shard_jupyter.types.agents import AgentInfo
from shard_jupyter.types.decisions import Grant
from shard_jupyter.types.events import PermissionRequest, UiRequest
from shard_jupyter.types.ids import Id
from shard_jupyter.types.session_entries import SessionEntry
from shard_jupyter.types.wire_model import WireModel


class PromptAccepted(WireModel):
    """The prompt is on disk. One of the two is there."""

    turn_id: Id | None = None
    """The turn that it started."""
    queue_item_id: Id | None = None
    """Its place in the queue."""


class Subscribed(WireModel):
    cursor: int
    """The newest committed `seq`; events up to it are history."""


class AnswerTaken(WireModel):
    """`accepted` false: somebody was faster, or the request is not of this agent. No error."""

    accepted: bool


class Aborted(WireModel):
    interrupted: bool
    """False: no turn ran, or another one than the named."""


class Branch(WireModel):
    leaf: Id
    fork_entry: Id | None = None
    """Where it left its parent branch; null for the first one."""
    title: str = ""
    entries: int = 0
    active: bool = False


class SessionOpDone(WireModel):
    """Which fields are filled depends on the operation."""

    leaf: Id | None = None
    """branch, switch, compact: the active leaf afterwards."""
    agent_id: Id | None = None
    """fork: the new agent."""
    entries: tuple[SessionEntry, ...] = ()
    """list: a page, newest first."""
    more: bool = False
    """list: there are older entries."""
    branches: tuple[Branch, ...] = ()
    """tree."""
    changed_paths: tuple[str, ...] = ()
    """undo: the files that were put back."""
    grants: tuple[Grant, ...] = ()
    """grants: those that hold until this conversation is closed; revoke: those taken back."""


class QueueItem(WireModel):
    item_id: Id
    text: str
    by: str = ""
    timestamp: str = ""


class Queue(WireModel):
    """The waiting prompts, next one first."""

    items: tuple[QueueItem, ...] = ()


class AgentList(WireModel):
    agents: tuple[AgentInfo, ...] = ()


class Attached(WireModel):
    """The agent as it is at `cursor`. Events after it follow, each once."""

    agent: AgentInfo
    cursor: int
    active_turn: Id | None = None
    permission_requests: tuple[PermissionRequest, ...] = ()
    """What waits for an answer, this agent's and what its subagents ask through it."""
    ui_requests: tuple[UiRequest, ...] = ()
    queue: tuple[QueueItem, ...] = ()


RESULTS: dict[str, type[WireModel]] = {
    "hello": Welcome,
    "prompt": PromptAccepted,
    "steer": SteerReply,
    "subscribe": Subscribed,
    "permission_response": AnswerTaken,
    "ui_response": AnswerTaken,
    "tool_response": AnswerTaken,
    "abort": Aborted,
    "session_op": SessionOpDone,
    "set_mode": AgentInfo,
    "set_model": AgentInfo,
    "rename": AgentInfo,
    "queue_list": Queue,
    "queue_edit": Queue,
    "queue_remove": Queue,
    "agent.list": AgentList,
    "agent.create": AgentInfo,
    "agent.kill": AgentInfo,
    "agent.attach": Attached,
    "agent.status": AgentInfo,
    "daemon.shutdown": EmptyResult,
}
