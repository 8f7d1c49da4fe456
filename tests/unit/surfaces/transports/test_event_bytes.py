"""Every event can be sent, whatever a model or a tool put into it."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shard_jupyter.protocol.decode_event import decode_event
from shard_jupyter.protocol.envelope import MAX_STREAM_BYTES
from shard_jupyter.protocol.framing import decode_record
from shard_jupyter.surfaces.transports.event_bytes import event_bytes
from shard_jupyter.types.events import Notice, ToolCallEvent, TurnEnd
from shard_jupyter.types.wire_model import Unknown

pytestmark = pytest.mark.proves("B02", "B03")


def arrived(event: object) -> object:
    return decode_event(decode_record(event_bytes(event)))  # type: ignore[arg-type]


def nested(depth: int) -> dict[str, object]:
    value: dict[str, object] = {}
    for _ in range(depth):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    "arguments",
    [
        {"text": "x" * (MAX_STREAM_BYTES + 1)},
        {"text": "half \ud83d"},
        {"half \ud83d": 1},
        {"n": math.nan, "m": -math.inf},
        {"n": 2**60, "m": -(10**400)},
        {"deep": nested(200)},
        {"many": list(range(300_000))},
        {f"k{number}": number for number in range(300_000)},
        {"texts": ["\x00" * 10_000] * 2000},
        {"blocks": [[["x" * 3000] * 100] * 100]},
    ],
    ids=["long", "half", "half-key", "nan", "number", "deep", "many", "keys", "escaped", "wide"],
)
def test_a_call_that_no_record_can_hold_arrives_shortened(arguments: dict[str, object]) -> None:
    event = ToolCallEvent(agent_id="a", turn_id="t", call_id="c", tool="write", arguments=arguments)
    came = arrived(event)
    assert isinstance(came, ToolCallEvent)
    assert (came.turn_id, came.call_id, came.tool) == ("t", "c", "write")
    assert len(event_bytes(event)) <= MAX_STREAM_BYTES


def test_the_end_of_a_turn_arrives_however_long_its_text() -> None:
    came = arrived(TurnEnd(agent_id="a", turn_id="t", outcome="completed", text="é" * 20_000_000))
    assert isinstance(came, TurnEnd)
    assert came.outcome == "completed"
    assert came.text.startswith("ééé")
    assert came.text.endswith("(too long to be sent; the session log has all of it)")


def test_what_fits_is_sent_unchanged() -> None:
    event = Notice(agent_id="a", code="x", message="\u2028 é 🙂 \x00" * 100, extra=[1, 2.5, None])
    assert arrived(event) == event


TEXT = st.text(st.characters(), max_size=5)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=50, deadline=None)
@given(st.dictionaries(TEXT, JSON, max_size=4))
def test_any_plain_data_can_be_sent(raw: dict[str, object]) -> None:
    decode_record(event_bytes(Unknown(tag="new", raw={"type": "new", **raw})))
