"""What is known of an agent from outside (the seed's open O4, DESIGN §5)."""

from __future__ import annotations

from typing import Literal

from shard_jupyter.types.ids import Id
from shard_jupyter.types.usage import UsageTotals
from shard_jupyter.types.wire_model import WireModel

AgentStatus = Literal["idle", "streaming", "waiting-for-permission", "error"]
RuntimeState = Literal["stopped", "starting", "running", "failed"]


class AgentInfo(WireModel):
    id: Id
    name: str
    session_id: str = ""
    """Names its log: what `agent.create` adopts."""
    cwd: str
    model: str
    mode: str
    status: AgentStatus
    runtime_state: RuntimeState
    usage: UsageTotals
    pending: int = 0
    owner: str = "local"
    parent: Id | None = None
    clients: int = 0
    last_activity: str = ""
    version: str = ""
