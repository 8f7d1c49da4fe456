"""The record does not depend on how the events came in: pieces, delays, retries, doubles."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shard_jupyter.surfaces.render_static.bundle import TRANSCRIPT_MIME, make_bundle
from shard_jupyter.surfaces.render_static.turn_record import TurnRecord, TurnRecorder
from shard_jupyter.types.content import TextBlock
from shard_jupyter.types.events import (
    AgentEvent,
    MessageComplete,
    MessageDelta,
    MessageDiscarded,
    RetryScheduled,
    ToolProgress,
)
from shard_jupyter.types.render_descriptors import TextDescriptor
from shard_jupyter.types.turns import ErrorInfo
from tests.unit.surfaces.render_static.turn_builder import Clock, TurnBuilder, make_edit_turn

pytestmark = pytest.mark.proves("D05", "J3.39")

EVENTS = tuple(make_edit_turn().events)
DURABLE = tuple(event for event in EVENTS if not isinstance(event, MessageDelta))


def play(events: list[AgentEvent], *, deterministic: bool, delays: list[float] = ()) -> TurnRecord:
    clock = Clock()
    recorder = TurnRecorder(agent="tally", prompt="go", deterministic=deterministic, clock=clock)
    for number, event in enumerate(events):
        clock.now += delays[number % len(delays)] if delays else 0.5
        recorder.take(event)
        recorder.record()
    return recorder.record()


def deltas_of(event: MessageComplete, sizes: list[int]) -> list[AgentEvent]:
    text = "".join(block.text for block in event.content if isinstance(block, TextBlock))
    pieces: list[AgentEvent] = []
    at = number = 0
    while at < len(text):
        size = sizes[number % len(sizes)]
        pieces.append(
            MessageDelta(
                agent_id=event.agent_id, turn_id=event.turn_id, item_id=event.item_id, offset=at,
                text=text[at : at + size],
            )
        )  # fmt: skip
        at += size
        number += 1
    return pieces


def with_pieces(sizes: list[int], doubled: bool) -> list[AgentEvent]:
    events: list[AgentEvent] = []
    for event in DURABLE:
        if isinstance(event, MessageComplete):
            pieces = deltas_of(event, sizes)
            events += [piece for piece in pieces for _ in range(1 + doubled)]
            events += pieces[:2] if doubled else []
        events += [event] * (1 + doubled)
    return events


@settings(deadline=None)
@given(
    st.lists(st.integers(1, 400), min_size=1, max_size=6),
    st.booleans(),
    st.lists(st.floats(0, 90), min_size=1, max_size=5),
)
def test_pieces_doubles_and_delays_do_not_show(
    sizes: list[int], doubled: bool, delays: list[float]
) -> None:
    events = with_pieces(sizes, doubled)
    expected = play(list(DURABLE), deterministic=True)
    assert play(events, deterministic=True, delays=delays) == expected
    assert make_bundle(play(events, deterministic=True)) == make_bundle(expected)


@pytest.mark.parametrize("size", [1, 10_000])
def test_one_piece_or_ten_thousand_give_the_same(size: int) -> None:
    turn = TurnBuilder()
    text = "x" * 10_000
    turn.finish(text)
    events = [event for event in turn.events if not isinstance(event, MessageDelta)]
    (complete,) = (event for event in events if isinstance(event, MessageComplete))
    pieces = deltas_of(complete, [size])
    clock = Clock()
    recorder = TurnRecorder(agent="tally", prompt="go", deterministic=False, clock=clock)
    for event in (events[0], *pieces, *events[1:]):
        recorder.take(event)
    assert len(pieces) == 10_000 // size
    assert recorder.record().answer == text
    assert recorder.record().items == ()


@settings(deadline=None)
@given(st.integers(1, len(DURABLE) - 2), st.integers(1, 3))
def test_what_was_made_good_does_not_show(place: int, times: int) -> None:
    error = ErrorInfo(code="cut", message="The stream broke")
    events = list(DURABLE)
    for number in range(times):
        made = {"agent_id": "agent-1", "turn_id": "turn-1"}
        item = f"lost-{number}"
        delta = MessageDelta(**made, item_id=item, offset=0, text="Half an ans")
        lost = MessageDiscarded(**made, item_id=item, reason="cut")
        retry = RetryScheduled(**made, attempt=number + 1, delay_seconds=0.1, error=error)
        events[place:place] = [delta, lost, retry]
    assert play(events, deterministic=True) == play(list(DURABLE), deterministic=True)


def test_output_as_it_comes_does_not_show_in_the_end() -> None:
    turn = TurnBuilder()
    call = turn.call("bash", command="make")
    before = list(turn.events)
    turn.result(TextDescriptor(text="done in 0.31s"), exit_code=0)
    turn.finish("ok")
    progress = ToolProgress(agent_id="agent-1", turn_id="turn-1", call_id=call, text="do")
    events = [*before, progress, progress, *turn.events[len(before) :]]
    record = play(events, deterministic=True)
    assert record == turn.record(deterministic=True)
    assert "0.31" not in str(record)
    assert "done in … s" in str(record)


def test_a_steady_bundle_has_no_id_no_time_and_no_usage() -> None:
    told = json.dumps(make_bundle(make_edit_turn().record(deterministic=True)))
    for kind in ("agent-", "turn-1", "entry-", "item-", "call-", "request-", "61.0k", "0.28"):
        assert kind not in told
    assert " s ·" not in told
    record = make_bundle(make_edit_turn().record(deterministic=True))[TRANSCRIPT_MIME]
    assert (record["seconds"], record["usage"]) == (None, None)


SCRIPT = """
from tests.unit.surfaces.render_static.turn_builder import make_edit_turn
from shard_jupyter.surfaces.render_static.bundle import make_bundle
import json, sys
sys.stdout.write(json.dumps(make_bundle(make_edit_turn().record(deterministic=True))))
"""


def test_the_hash_seed_does_not_show() -> None:
    told = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "4711")
    }
    assert len(told) == 1
