"""What a window is made of, taken out of entries: messages, results, started calls. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from shard_jupyter.core.lineage.active_branch import Repair
from shard_jupyter.store.text_spill import spilled_hash
from shard_jupyter.types.content import (
    ContentBlock,
    ResultPart,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
)
from shard_jupyter.types.messages import Message
from shard_jupyter.types.session_entries import (
    IntentEntry,
    MessageEntry,
    SessionEntry,
    ToolResultEntry,
)
from shard_jupyter.types.wire_model import Unknown


@dataclass
class WindowParts:
    """Messages without results; results by call id; ids of all calls and of started ones."""

    messages: list[Message] = field(default_factory=list)
    results: dict[str, ToolResultBlock] = field(default_factory=dict)
    called: set[str] = field(default_factory=set)
    started: set[str] = field(default_factory=set)
    notes: list[Repair] = field(default_factory=list)

    def note(self, code: str, about: str, message: str) -> None:
        self.notes.append(Repair(code, about, message))


def collect_parts(entries: Sequence[SessionEntry], full_texts: Mapping[str, str]) -> WindowParts:
    """Sort entries into parts. Messages keep their order; results are paired by id elsewhere.

    Blocks come out of validated entries, so nothing is validated again: a window is built for
    every model call, and its cost grows with the session.
    """
    parts = WindowParts()
    for entry in entries:
        if isinstance(entry, MessageEntry):
            _take_message(entry, full_texts, parts)
        elif isinstance(entry, ToolResultEntry):
            _take_result(entry, full_texts, parts)
        elif isinstance(entry, IntentEntry):
            parts.started.add(entry.call_id)
    return parts


def _take_message(entry: MessageEntry, full_texts: Mapping[str, str], parts: WindowParts) -> None:
    kept: list[ContentBlock] = []
    for block in entry.content:
        if isinstance(block, TextBlock):
            text = _whole(block, full_texts)
            if text.text.strip():
                kept.append(text)
        elif isinstance(block, ToolResultBlock):
            # A message that mixes words and results is split: the result goes to its call.
            _take_result(block, full_texts, parts)
        elif isinstance(block, ToolCallBlock):
            if _is_first_call(block, entry, parts):
                kept.append(block)
        elif isinstance(block, Unknown):
            parts.note("unknown_block", entry.id, f"A block of kind {block.tag!r} was left out.")
        else:
            kept.append(block)
    if all(isinstance(block, ThinkingBlock) for block in kept):
        parts.note("empty_message", entry.id, f"A message of {entry.role} says nothing; left out.")
    else:
        parts.messages.append(Message.model_construct(role=entry.role, content=tuple(kept)))


def _is_first_call(block: ToolCallBlock, entry: MessageEntry, parts: WindowParts) -> bool:
    if entry.role != "assistant":
        parts.note("misplaced_call", block.call_id, "A call in a user message was left out.")
        return False
    if block.call_id in parts.called:
        parts.note("duplicate_call", block.call_id, "A second call of this id was left out.")
        return False
    parts.called.add(block.call_id)
    return True


def _take_result(
    source: ToolResultBlock | ToolResultEntry, full_texts: Mapping[str, str], parts: WindowParts
) -> None:
    if source.call_id in parts.results:
        parts.note("duplicate_result", source.call_id, "A second result of this call; left out.")
        return
    content: list[ResultPart] = []
    for part in source.content:
        if isinstance(part, Unknown):
            parts.note("unknown_block", source.call_id, f"A part of kind {part.tag!r}; left out.")
        else:
            content.append(_whole(part, full_texts) if isinstance(part, TextBlock) else part)
    parts.results[source.call_id] = ToolResultBlock.model_construct(
        kind="tool_result",
        call_id=source.call_id,
        name=source.name,
        content=tuple(content),
        is_error=source.is_error,
        is_denied=source.is_denied
        if isinstance(source, ToolResultBlock)
        else source.status == "denied",
    )


def _whole(block: TextBlock, full_texts: Mapping[str, str]) -> TextBlock:
    if not full_texts:
        return block
    sha256 = spilled_hash(block)
    text = full_texts.get(sha256) if sha256 is not None else None
    return block if text is None else TextBlock(text=text)
