"""Whatever a log holds, the window that comes of it is one that every provider accepts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shard_jupyter.core.lineage.active_branch import active_branch
from shard_jupyter.core.lineage.message_window import MessageWindow, build_window
from shard_jupyter.types.content import (
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
)
from shard_jupyter.types.session_entries import CheckpointEntry, MessageEntry, ToolResultEntry
from shard_jupyter.types.wire_model import Unknown
from tests.entry_builders import NOON, compaction, header, intent

pytestmark = pytest.mark.proves("A11", "H4b.21", "H4c.28", "H4c.29")

own_ids = st.sampled_from([f"e{number}" for number in range(12)])
parents = st.none() | own_ids | st.just("gone")
calls = st.sampled_from(["c1", "c2", "c3", "c4"])
texts = st.sampled_from(["", " ", "hi", "é", "\ud83d", "a\ud800b\u2028"])
text_blocks = st.builds(TextBlock, text=texts)
unknown_blocks = st.just(Unknown(tag="video", raw={"kind": "video", "x": "\ud800"}))
images = st.just(ImageBlock(media_type="image/png", sha256="0" * 64, size_bytes=1))
parts = st.lists(text_blocks | images | unknown_blocks, max_size=2).map(tuple)
result_blocks = st.builds(ToolResultBlock, call_id=calls, name=st.just("bash"), content=parts)
call_blocks = st.builds(
    ToolCallBlock,
    call_id=calls,
    name=st.just("bash"),
    arguments=st.dictionaries(texts, texts | st.lists(texts, max_size=2), max_size=2),
)
thinking = st.builds(ThinkingBlock, text=texts)
blocks = text_blocks | call_blocks | result_blocks | images | thinking | unknown_blocks
common: dict[str, Any] = {"id": own_ids, "parent_id": parents, "timestamp": st.just(NOON)}

entries = st.one_of(
    st.builds(
        MessageEntry,
        **common,
        turn_id=st.just("t"),
        role=st.sampled_from(["user", "assistant"]),
        content=st.lists(blocks, max_size=4).map(tuple),
    ),
    st.builds(
        ToolResultEntry,
        **common,
        turn_id=st.just("t"),
        call_id=calls,
        name=st.just("bash"),
        content=parts,
    ),
    st.builds(intent, own_ids, parents, calls),
    st.builds(compaction, own_ids, parents, own_ids | st.just("gone"), texts),
    st.builds(CheckpointEntry, **common, artifact_kind=st.just("plan")),
    st.builds(lambda own: header(id=own), own_ids),
    st.builds(
        lambda own, parent: Unknown(tag="new", raw={"id": own, "parentId": parent}),
        own_ids,
        parents,
    ),
)


def check(window: MessageWindow) -> None:
    waiting: list[str] = []
    answered: set[str] = set()
    for message in window.messages:
        assert message.content
        # Fails on half characters anywhere in it.
        message.model_dump_json()
        if message.role == "tool":
            results = [block for block in message.content if isinstance(block, ToolResultBlock)]
            assert len(results) == len(message.content)
            assert [block.call_id for block in results] == waiting
            waiting = []
            continue
        assert not waiting
        kinds = {type(block) for block in message.content}
        assert not kinds & {ToolResultBlock, Unknown}
        assert kinds != {ThinkingBlock}
        assert message.role == "assistant" or not message.tool_calls
        waiting = [call.call_id for call in message.tool_calls]
        assert len(waiting) == len(set(waiting))
        assert not answered & set(waiting)
        answered |= set(waiting)
    assert not waiting
    assert not window.messages or window.messages[0].role == "user"
    texts_seen = [
        block.text for m in window.messages for block in m.content if isinstance(block, TextBlock)
    ]
    assert all(text.strip() for text in texts_seen)


@settings(max_examples=300)
@given(st.lists(entries, max_size=14))
def test_any_list_of_entries_gives_a_valid_window(log: list[Any]) -> None:
    check(build_window(log))


@settings(max_examples=200)
@given(st.lists(entries, max_size=14))
def test_any_log_gives_a_valid_window_of_its_active_branch(log: list[Any]) -> None:
    check(build_window(active_branch(log).entries))


@given(st.lists(entries, max_size=14))
def test_the_same_branch_gives_the_same_window(log: list[Any]) -> None:
    assert build_window(log) == build_window(log)


@given(st.lists(entries, max_size=14), st.integers(0, 14))
def test_a_result_that_is_there_is_never_called_interrupted(log: list[Any], cut: int) -> None:
    branch = log[cut:]
    there = {entry.call_id for entry in branch if isinstance(entry, ToolResultEntry)}
    window = build_window(branch)
    compacted = any(
        entry.id != "" for entry in branch if getattr(entry, "type", "") == "compaction"
    )
    synthesised = {note.about for note in window.notes if note.code in ("interrupted", "uncertain")}
    assert compacted or not synthesised & there
