"""What must be true of every agent once its turn has ended, however it has ended."""

from __future__ import annotations

from collections import Counter

from shard_jupyter.protocol.decode_event import decode_event
from shard_jupyter.protocol.framing import decode_record, encode_record
from shard_jupyter.types.wire_model import Unknown
from tests.agent_rig import AgentRig


def check_order(rig: AgentRig) -> None:
    entries = rig.log()
    asked = [
        block["call_id"]
        for entry in entries
        if entry["type"] == "message" and entry["role"] == "assistant"
        for block in entry["content"]
        if block["kind"] == "tool_call"
    ]
    closed = [entry["call_id"] for entry in entries if entry["type"] == "tool_result"]
    assert sorted(closed) == sorted(asked)
    turns = {entry["turn_id"] for entry in entries if "turn_id" in entry}
    ends = Counter(entry["turn_id"] for entry in entries if entry["type"] == "turn_end")
    assert ends == dict.fromkeys(turns, 1)
    told = Counter(event.turn_id for event in rig.seen("turn_end"))
    assert told == dict.fromkeys(turns, 1)
    assert rig.seen("status")[-1].status == "idle"
    questions = Counter(event.request_id for event in rig.seen("permission_request"))
    resolved = Counter(event.request_id for event in rig.seen("permission_resolved"))
    assert questions == resolved
    stored = Counter(entry["request_id"] for entry in entries if entry.get("request_id"))
    assert stored == dict.fromkeys(questions, 2)  # the question and how it ended
    assert set(questions.values()) <= {1}
    desk = rig.session.parts.desk
    assert (desk.pending(), desk._slots) == ((), {})
    assert rig.provider.open_streams == 0
    assert rig.session.active_turn is None
    check_deltas(rig)


def check_deltas(rig: AgentRig) -> None:
    """Offsets add up, and what was shown was either kept or taken back."""
    sent: Counter[tuple[str, str]] = Counter()
    for event in rig.seen("message_delta"):
        place = (event.item_id, event.call_id or event.channel)
        assert event.offset == sent[place]
        sent[place] += len(event.text)
    ended = [event.item_id for event in rig.seen("message_complete", "message_discarded")]
    assert len(set(ended)) == len(ended)
    assert {item for item, _ in sent} <= set(ended)


def check_wire(rig: AgentRig) -> None:
    """Every client can read every event, and so can whoever opens the log."""
    for event in rig.events:
        read = decode_event(decode_record(encode_record(event)))
        assert not isinstance(read, Unknown), event
        assert read == event
    assert rig.log()
