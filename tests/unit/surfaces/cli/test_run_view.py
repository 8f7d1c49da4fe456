"""A run as JSON lines for programs."""

from __future__ import annotations

import io
import json

import pytest
from pydantic import TypeAdapter

from shard_jupyter.surfaces.cli.run_view import JsonView
from shard_jupyter.types.events import AgentEvent, TurnEnd
from tests.unit.surfaces.conversation.test_person_view import DONE, RUN, delta

pytestmark = pytest.mark.proves("B12")


def test_every_event_is_one_line_of_json() -> None:
    adapter: TypeAdapter[AgentEvent] = TypeAdapter(AgentEvent)
    newer = adapter.validate_python({"type": "dance", "v": 1, "steps": [1, 2]})
    out, err = io.BytesIO(), io.StringIO()
    events = (*RUN, delta("line\u2028sep \u00fc\nx", 0, "m3"), newer)
    view = JsonView(out, err)
    end = TurnEnd(agent_id="a", outcome="completed", text="All good.")
    for event in (*events, end):
        view.show(event)
    view.finish(DONE)
    view.flush()
    lines = out.getvalue().split(b"\n")
    assert lines.pop() == b""
    assert [adapter.validate_python(json.loads(line)) for line in lines] == [*events, end]
    assert json.loads(lines[-2]) == {"type": "dance", "v": 1, "steps": [1, 2]}
    assert err.getvalue() == ""
