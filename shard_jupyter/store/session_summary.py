"""What a list of sessions shows of one: from a cache, else from both ends of its log.

A writer that closes leaves `<log>.summary`. It counts as long as the log has the same size; else the
log is looked at, its first and its last bytes, by the reader that opens use. The cache is never
needed: without it only the number of messages of a long log is unknown.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import takewhile
from pathlib import Path

from pydantic import ValidationError

from shard_jupyter.store.atomic_file import write_atomic
from shard_jupyter.store.entry_codec import decode_line
from shard_jupyter.store.session_reader import RawLine, read_lines
from shard_jupyter.types.content import TextBlock
from shard_jupyter.types.session_entries import Entry, MessageEntry, SessionEntry, SessionHeader
from shard_jupyter.types.wire_model import WireModel

WINDOW = 128 << 10
"""Bytes looked at, at each end of a log."""
PROMPT_CHARACTERS = 200


class SessionSummary(WireModel):
    """One line of a list of sessions."""

    session_id: str
    path: str = ""
    agent_id: str = ""
    cwd: str = ""
    first_prompt: str = ""
    """First line of the first user message, at most 200 characters."""
    created: str = ""
    last_activity: str = ""
    """Timestamp of the last entry, else of the file; RFC 3339, UTC."""
    message_count: int | None = None
    """None: not known without reading the whole log."""
    size_bytes: int = 0
    note: str = ""
    """What is wrong with the log, as far as this look at it could see."""


def summary_path(log_path: Path) -> Path:
    return log_path.with_name(f"{log_path.name}.summary")


def save_summary(log_path: Path, entries: Sequence[SessionEntry], size_bytes: int) -> None:
    """Leave the cache for a log that holds exactly `entries`. Blocking."""
    summary = _summarise(log_path, entries, entries, size_bytes)
    summary = summary.model_copy(update={"message_count": _count_messages(entries)})
    # Only a cache: on a full disk the close of the log must succeed all the same.
    with contextlib.suppress(OSError):
        write_atomic(summary_path(log_path), summary.model_dump_json().encode(), sync=False)


def _load_cached(log_path: Path) -> SessionSummary | None:
    try:
        cached = SessionSummary.model_validate_json(summary_path(log_path).read_bytes())
    except (FileNotFoundError, ValidationError):
        return None
    return cached.model_copy(update={"path": str(log_path)})


def summarise_session(log_path: Path) -> SessionSummary:
    """Say what a log holds without reading all of it. Blocking.

    Raises:
        OSError: it cannot be read.
    """
    descriptor = os.open(log_path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOCTTY)
    try:
        status = os.fstat(descriptor)
        cached = _load_cached(log_path)
        if cached is not None and cached.size_bytes == status.st_size:
            return cached
        head = _read_window(descriptor, 0)
        if status.st_size <= WINDOW:
            tail = head
            count: int | None = _count_messages(head.entries)
        else:
            tail = _read_window(descriptor, status.st_size - WINDOW)
            count = _count_on(descriptor, cached, status.st_size)
    finally:
        os.close(descriptor)
    summary = _summarise(log_path, head.entries, tail.entries, status.st_size)
    update: dict[str, object] = {"message_count": count}
    if not summary.last_activity:
        update["last_activity"] = datetime.fromtimestamp(status.st_mtime, UTC).isoformat()
    if head.is_damaged or tail.is_damaged:
        update["note"] = "The log is damaged; opening it says where."
    return summary.model_copy(update=update)


@dataclass
class _Window:
    entries: list[SessionEntry] = field(default_factory=list)
    is_damaged: bool = False


def _read_window(descriptor: int, offset: int) -> _Window:
    """Read the whole lines that start in one window; a first line that began before it is none."""
    window = _Window()
    lines = read_lines(descriptor, offset)
    if offset > 0:
        next(lines, None)
    end = offset + WINDOW
    for line in takewhile(lambda line: line.start < end, lines):
        _take(line, window)
    return window


def _take(line: RawLine, window: _Window) -> None:
    decoded = decode_line(line.data or b"")
    if decoded.entry is not None:
        window.entries.append(decoded.entry)
    window.is_damaged |= decoded.kind is not None or not line.is_complete


def _count_on(descriptor: int, cached: SessionSummary | None, size: int) -> int | None:
    """Count from where the cache ends, if that is near the end."""
    if cached is None or cached.message_count is None:
        return None
    if not 0 <= size - cached.size_bytes <= WINDOW:
        return None
    lines = read_lines(descriptor, cached.size_bytes)
    decoded = (decode_line(line.data or b"").entry for line in lines)
    return cached.message_count + sum(isinstance(entry, MessageEntry) for entry in decoded)


def _summarise(
    log_path: Path, first: Sequence[SessionEntry], last: Sequence[SessionEntry], size: int
) -> SessionSummary:
    header = next((entry for entry in first if isinstance(entry, SessionHeader)), None)
    stamps = (entry.timestamp for entry in reversed(last) if isinstance(entry, Entry))
    return SessionSummary(
        session_id=header.session_id if header else log_path.parent.name,
        path=str(log_path),
        agent_id=header.agent_id if header else "",
        cwd=header.cwd if header else "",
        first_prompt=_first_prompt(first),
        created=header.timestamp if header else "",
        last_activity=next(stamps, ""),
        size_bytes=size,
        note="" if header else "The header of the log is lost.",
    )


def _first_prompt(entries: Iterable[SessionEntry]) -> str:
    for entry in entries:
        if isinstance(entry, MessageEntry) and entry.role == "user":
            text = "".join(block.text for block in entry.content if isinstance(block, TextBlock))
            return text.strip().split("\n", 1)[0][:PROMPT_CHARACTERS]
    return ""


def _count_messages(entries: Iterable[SessionEntry]) -> int:
    return sum(isinstance(entry, MessageEntry) for entry in entries)
