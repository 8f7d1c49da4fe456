"""From a branch to the messages a model gets (Shard §10: last summary + entries kept after it).

Pure, and total: whatever the branch holds, the window is one that every provider accepts. Each
call is followed by exactly one result, in call order, in one `tool` message; no result stands
alone; no message is empty; the first one is the user's; no text holds half a character.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pydantic_core import PydanticSerializationError

from shard_jupyter.core.lineage.active_branch import Repair
from shard_jupyter.core.lineage.window_parts import WindowParts, collect_parts
from shard_jupyter.errors import Bug
from shard_jupyter.store.entry_chain import index_entries
from shard_jupyter.store.surrogates import REPLACEMENT, clean_value
from shard_jupyter.types.content import TextBlock, ToolCallBlock, ToolResultBlock
from shard_jupyter.types.messages import Message, user_text
from shard_jupyter.types.session_entries import CompactionEntry, SessionEntry

INTERRUPTED = "interrupted: the call did not run to its end, it has no result"
UNCERTAIN = "uncertain: it was started, its outcome is not known, it was not run again"
LOST_START = "[The start of this conversation is lost.]"


class MessageWindow(NamedTuple):
    """`notes` say what was put right."""

    messages: tuple[Message, ...]
    notes: tuple[Repair, ...]


def build_window(
    branch: Sequence[SessionEntry], full_texts: Mapping[str, str] | None = None
) -> MessageWindow:
    """Build the window of a branch (`active_branch(…).entries`).

    `full_texts` maps hashes of blobs to whole texts (`text_spill.load_full_texts`). A text that
    was cut when it was stored and is not in it is used as it was kept, head and tail.
    """
    notes: list[Repair] = []
    entries, summary = _kept_entries(branch, notes)
    start = [user_text(summary)] if summary else []
    messages = [_clean(message) for message in start]
    messages += _pair_up(collect_parts(entries, full_texts or {}), notes)
    return _with_start(messages, notes)


def extend_window(window: MessageWindow, entries: Sequence[SessionEntry]) -> MessageWindow:
    """Add the newest entries of the branch; the same as building anew, at the cost of the new.

    For the rounds of a turn: `entries` holds whole cycles, each call together with its result.

    Raises:
        Bug: a compaction is among them, or a result of an earlier call. Build the window anew.
    """
    if any(isinstance(entry, CompactionEntry) for entry in entries):
        raise Bug("a window cannot be extended over a compaction")
    notes: list[Repair] = []
    messages = _pair_up(collect_parts(entries, {}), notes)
    if any(note.code == "orphan_result" for note in notes):
        raise Bug("a window cannot be extended by results of calls that are in it already")
    return _with_start([*window.messages, *messages], [*window.notes, *notes])


def _with_start(messages: list[Message], notes: list[Repair]) -> MessageWindow:
    if messages and messages[0].role != "user":
        messages.insert(0, user_text(LOST_START))
        notes.append(Repair("lost_start", "", "The window did not begin with a user message."))
    return MessageWindow(tuple(messages), tuple(notes))


def _pair_up(parts: WindowParts, notes: list[Repair]) -> list[Message]:
    """Put the results behind the messages that asked for them."""
    notes.extend(parts.notes)
    messages: list[Message] = []
    for message in parts.messages:
        messages.append(_clean(message))
        if message.tool_calls:
            messages.append(_clean(_answer_calls(message, parts, notes)))
    notes.extend(_orphans(parts))
    return messages


def _kept_entries(
    branch: Sequence[SessionEntry], notes: list[Repair]
) -> tuple[list[SessionEntry], str]:
    """Return what the newest compaction kept, and the text of its summary.

    Older compactions are not rendered: a summary replaces the one before it.
    """
    for place in range(len(branch) - 1, -1, -1):
        entry = branch[place]
        if isinstance(entry, CompactionEntry):
            first = _first_kept(branch, place, entry, notes)
            kept: list[SessionEntry] = [
                each for each in branch[first:] if not isinstance(each, CompactionEntry)
            ]
            return kept, _summary_text(entry, notes)
    return list(branch), ""


def _first_kept(
    branch: Sequence[SessionEntry], place: int, entry: CompactionEntry, notes: list[Repair]
) -> int:
    first = index_entries(branch).get(entry.first_kept_id)
    if first is None:
        text = f"Entry {entry.first_kept_id}, which the compaction kept, is not on this branch."
        notes.append(Repair("first_kept_missing", entry.id, text))
        return place
    return min(first, place)


def _summary_text(entry: CompactionEntry, notes: list[Repair]) -> str:
    text = entry.summary.get("text")
    if isinstance(text, str) and text.strip():
        return text
    notes.append(Repair("no_summary", entry.id, "The newest compaction has no summary text."))
    return ""


def _answer_calls(message: Message, parts: WindowParts, notes: list[Repair]) -> Message:
    results = tuple(_answer(call, parts, notes) for call in message.tool_calls)
    return Message.model_construct(role="tool", content=results)


def _answer(call: ToolCallBlock, parts: WindowParts, notes: list[Repair]) -> ToolResultBlock:
    result = parts.results.get(call.call_id)
    if result is not None:
        same = result.name == call.name
        return result if same else result.model_copy(update={"name": call.name})
    code, text = (
        ("uncertain", UNCERTAIN) if call.call_id in parts.started else ("interrupted", INTERRUPTED)
    )
    notes.append(Repair(code, call.call_id, f"The call of {call.name} has no result: {text}."))
    return ToolResultBlock(
        call_id=call.call_id, name=call.name, content=(TextBlock(text=text),), is_error=True
    )


def _orphans(parts: WindowParts) -> list[Repair]:
    return [
        Repair("orphan_result", call_id, f"A result of {result.name} has no call; left out.")
        for call_id, result in parts.results.items()
        if call_id not in parts.called
    ]


def _clean(message: Message) -> Message:
    """Replace half characters, which break every later request once they are in a window."""
    try:
        # The quickest look at every string there is. Values raise; keys come out replaced.
        if REPLACEMENT not in message.model_dump_json():
            return message
    except PydanticSerializationError:
        pass
    return Message.model_validate(clean_value(message.model_dump()))
