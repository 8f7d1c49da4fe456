"""What is said to one client only; no agent emits it and no log keeps it."""

from __future__ import annotations

from typing import Any, Literal

from shard_jupyter.types.events import Event
from shard_jupyter.types.ids import Id


class Resync(Event):
    """The client was too slow: events were left out. Read on from the own cursor (DESIGN §5)."""

    type: Literal["resync"] = "resync"
    last_seq: int
    """The newest committed event; a client whose cursor is there has missed only deltas."""


class ToolRequest(Event):
    """Run a tool that this client hosts. Already allowed by the gate."""

    type: Literal["tool_request"] = "tool_request"
    request_id: Id
    call_id: Id
    tool: str
    arguments: dict[str, Any]


class ToolRequestWithdrawn(Event):
    """Stop running it: the turn was aborted. An answer that still comes is discarded."""

    type: Literal["tool_request_withdrawn"] = "tool_request_withdrawn"
    request_id: Id
    call_id: Id


CONNECTION_EVENTS: tuple[type[Event], ...] = (Resync, ToolRequest, ToolRequestWithdrawn)
