"""What is written, and what the model sees of it, in this process and after a restart."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from shard_jupyter.core.transcript import Transcript
from shard_jupyter.errors import StorageError
from shard_jupyter.store.session_log import SessionLog
from shard_jupyter.testing.fake_clock import FakeClock
from shard_jupyter.types.content import TextBlock, ToolCallBlock
from shard_jupyter.types.messages import Message
from shard_jupyter.types.session_entries import SessionHeader
from shard_jupyter.types.tool_results import text_result
from shard_jupyter.types.usage import TokenUsage

pytestmark = pytest.mark.proves("A11")
HEADER = SessionHeader(
    id="entry-0", timestamp="2030-01-01T00:00:00Z", session_id="s", agent_id="a", cwd="/w"
)
CALLS = tuple(ToolCallBlock(call_id=name, name="odd") for name in ("one", "two"))
ANSWER = Message(role="assistant", content=(TextBlock(text="calls"), *CALLS))


async def open_transcript(folder: Path) -> Transcript:
    log = await SessionLog.create(folder / "session.jsonl", HEADER)
    return Transcript(log, FakeClock())


def answer(transcript: Transcript) -> None:
    transcript.record_answer("t", ANSWER, model="m", stop_reason="tool_calls", tokens=TokenUsage())


async def test_results_become_a_message_when_each_call_has_one_in_the_order_of_the_calls(
    tmp_path: Path,
) -> None:
    with anyio.fail_after(5):
        transcript = await open_transcript(tmp_path)
        transcript.record_prompt("t", "go")
        answer(transcript)
        transcript.record_result("t", CALLS[1], text_result("2"))
        assert transcript.is_open("one")
        assert not transcript.is_open("two")
        assert len(transcript.messages) == 2
        transcript.record_result("t", CALLS[0], text_result("1"))
        told = [block.content[0].text for block in transcript.messages[2].content]
        await transcript.aclose()
    assert told == ["1", "2"]


async def test_the_window_is_the_same_after_it_was_built_anew(tmp_path: Path) -> None:
    with anyio.fail_after(5):
        transcript = await open_transcript(tmp_path)
        transcript.record_prompt("t", "é" * 100_000)
        answer(transcript)
        for tool_call in CALLS:
            transcript.record_result("t", tool_call, text_result("ok"))
        before = [message.model_dump() for message in transcript.messages]
        transcript.rebuild()
        assert [message.model_dump() for message in transcript.messages] == before
        assert transcript.repairs == ()
        await transcript.aclose()


async def test_what_could_not_be_written_is_not_seen_by_the_model(tmp_path: Path) -> None:
    with anyio.fail_after(5):
        transcript = await open_transcript(tmp_path)
        transcript.record_prompt("t", "go")
        await transcript.aclose()
        with pytest.raises(StorageError):
            transcript.record_prompt("t", "more")
        with pytest.raises(StorageError):
            answer(transcript)
    assert [message.text for message in transcript.messages] == ["go"]
    assert not transcript.is_open("one")


async def test_waiting_for_the_disk_covers_all_that_was_recorded(tmp_path: Path) -> None:
    with anyio.fail_after(5):
        transcript = await open_transcript(tmp_path)
        await transcript.wait_for_disk()
        for number in range(50):
            transcript.record_prompt("t", f"prompt {number}")
        await transcript.wait_for_disk()
        data = await anyio.Path(tmp_path / "session.jsonl").read_bytes()
        await transcript.aclose()
    assert data.count(b"prompt ") == 50
