"""Entries for tests, short to write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shard_jupyter.store.session_log import SessionLog
from shard_jupyter.types.content import TextBlock, ToolCallBlock
from shard_jupyter.types.session_entries import (
    CompactionEntry,
    IntentEntry,
    MessageEntry,
    SessionHeader,
    ToolResultEntry,
)

NOON = "2026-03-01T12:00:00Z"


def header(session_id: str = "session-1", **fields: Any) -> SessionHeader:
    values = {"id": "header-1", "timestamp": NOON, "agent_id": "agent-1", "cwd": "/project"}
    return SessionHeader(session_id=session_id, **(values | fields))


def user(own: str, parent: str | None, text: str = "hello", **fields: Any) -> MessageEntry:
    return MessageEntry(
        id=own,
        parent_id=parent,
        timestamp=fields.pop("timestamp", NOON),
        turn_id="turn-1",
        role="user",
        content=(TextBlock(text=text),),
        **fields,
    )


def assistant(own: str, parent: str | None, text: str = "", calls: tuple[str, ...] = ()) -> Any:
    blocks: list[Any] = [TextBlock(text=text)] if text else []
    blocks += [
        ToolCallBlock(call_id=call, name="bash", arguments={"command": "ls"}) for call in calls
    ]
    return MessageEntry(
        id=own,
        parent_id=parent,
        timestamp=NOON,
        turn_id="turn-1",
        role="assistant",
        content=tuple(blocks),
    )


def result(own: str, parent: str | None, call: str, text: str = "out") -> ToolResultEntry:
    return ToolResultEntry(
        id=own,
        parent_id=parent,
        timestamp=NOON,
        turn_id="turn-1",
        call_id=call,
        name="bash",
        content=(TextBlock(text=text),),
    )


def intent(own: str, parent: str | None, call: str) -> IntentEntry:
    return IntentEntry(
        id=own, parent_id=parent, timestamp=NOON, turn_id="turn-1", call_id=call, name="bash"
    )


def compaction(own: str, parent: str | None, first_kept: str, text: str = "so far") -> Any:
    return CompactionEntry(
        id=own,
        parent_id=parent,
        timestamp=NOON,
        index=0,
        summary={"text": text},
        message_range=("e0", "e1"),
        first_kept_id=first_kept,
        compactor="test",
    )


def lines_of(*entries: Any) -> bytes:
    return b"".join(entry.model_dump_json(by_alias=True).encode() + b"\n" for entry in entries)


async def make_log(folder: Path, *entries: Any, session_id: str = "session-1") -> Path:
    """Write a log as the program does, close it, and return its path."""
    path = folder / session_id / "session.jsonl"
    log = await SessionLog.create(path, header(session_id))
    await log.append(*entries).wait()
    await log.aclose()
    return path
