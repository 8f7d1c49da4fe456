from __future__ import annotations

from typing import Any

import pytest

from shard_jupyter.protocol.decode_event import EVENTS, decode_event, decode_server_record
from shard_jupyter.protocol.envelope import Reply
from shard_jupyter.protocol.framing import decode_record, encode_record
from shard_jupyter.types.events import EPHEMERAL, EVENT_TYPES, StatusEvent, ToolResultEvent
from shard_jupyter.types.wire_model import Unknown

pytestmark = pytest.mark.proves("A02")

STATUS = {"v": 1, "type": "status", "agent_id": "a", "status": "idle"}


def test_every_event_of_the_types_can_be_read() -> None:
    assert {event.model_fields["type"].default for event in EVENT_TYPES} <= EVENTS.keys()
    assert EPHEMERAL <= EVENTS.keys()


@pytest.mark.parametrize(
    "record",
    [
        {"v": 1, "type": "hologram", "agent_id": "a", "text": "new"},
        {**STATUS, "status": "dreaming"},
        {**STATUS, "v": 2},
        {**STATUS, "v": True},
        {**STATUS, "agent_id": "../etc"},
        {"type": ["status"]},
        {"tag": "status", "raw": {}},
        {},
    ],
)
def test_what_is_not_known_passes_through_unchanged(record: dict[str, Any]) -> None:
    event = decode_event(record)
    assert isinstance(event, Unknown)
    assert decode_record(encode_record(event)) == record


def test_unknown_event_keeps_its_type_as_tag() -> None:
    event = decode_event({"v": 1, "type": "hologram", "agent_id": "a"})
    assert isinstance(event, Unknown)
    assert event.tag == "hologram"


def test_unknown_kind_inside_a_known_event_passes_through() -> None:
    record = {
        "v": 1, "type": "tool_result", "agent_id": "a", "entry_id": "e", "call_id": "c",
        "tool": "t", "status": "ok", "is_error": False,
        "content": [{"kind": "video", "url": "x"}],
        "render": [{"kind": "hologram", "rows": [[1]]}],
    }  # fmt: skip
    event = decode_event(record)
    assert isinstance(event, ToolResultEvent)
    written = decode_record(encode_record(event))
    assert (written["content"], written["render"]) == (record["content"], record["render"])


def test_server_record_is_a_reply_or_an_event() -> None:
    reply = {"v": 1, "type": "reply", "re": "c1", "ok": True, "result": {}}
    assert isinstance(decode_server_record(reply), Reply)
    assert isinstance(decode_server_record(STATUS), StatusEvent)
