"""A record that is to be the same everywhere does not say where the project lies."""

from __future__ import annotations

import pytest

from shard_jupyter.surfaces.render_static.turn_record import TurnRecorder
from shard_jupyter.types.events import (
    AgentEvent,
    ToolCallEvent,
    ToolResultEvent,
    TurnEnd,
    TurnStart,
)
from shard_jupyter.types.render_descriptors import KvDescriptor, KvPair, TextDescriptor

pytestmark = pytest.mark.proves("D09", "J3.39")

SHOWN = (
    TextDescriptor(text="make"),
    KvDescriptor(pairs=(KvPair(k="folder", v="/home/ada/project"),)),
    KvDescriptor(
        pairs=(KvPair(k="folder", v="/home/ada/project"), KvPair(k="time limit", v="3 s"))
    ),
)
IDS = {"agent_id": "agent-1", "turn_id": "turn-1"}


def record_of(*, deterministic: bool, is_over: bool) -> str:
    events: list[AgentEvent] = [
        TurnStart(**IDS, model="m", mode="build", prompt="Go."),
        ToolCallEvent(**IDS, call_id="c1", tool="bash", arguments={"command": "x"}, render=SHOWN),
    ]
    if is_over:
        events.append(
            ToolResultEvent(
                **IDS,
                call_id="c1",
                tool="bash",
                status="denied",
                content=(),
                entry_id="e1",
                is_error=True,
            )
        )
    events.append(TurnEnd(**IDS, outcome="completed"))
    recorder = TurnRecorder(agent="a", prompt="Go.", deterministic=deterministic)
    for event in events:
        recorder.take(event)
    return recorder.record().model_dump_json()


@pytest.mark.parametrize("is_over", [True, False])
def test_the_folder_of_a_call_is_left_out(is_over: bool) -> None:
    told = record_of(deterministic=True, is_over=is_over)
    assert "/home/ada" not in told
    assert "time limit" in told
    assert told.count('"kind":"kv"') == 1
    assert told.count("/home/ada") < record_of(deterministic=False, is_over=is_over).count(
        "/home/ada"
    )
