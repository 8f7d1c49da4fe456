"""One run from prompt to exit code, with a scripted agent."""

from __future__ import annotations

import io
import json
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from shard_jupyter.errors import UnknownModel
from shard_jupyter.surfaces.cli.run_request import RunRequest
from shard_jupyter.surfaces.cli.run_turn import run_turn
from shard_jupyter.surfaces.cli.run_view import JsonView
from tests.unit.surfaces.cli.scripted_agent import (
    Script,
    ScriptedAgent,
    answers,
    cannot_open,
    talks_for_ever,
)

pytestmark = pytest.mark.proves("B12")


class ClosedPipe(io.BytesIO):
    """Takes a little, then nobody reads any more."""

    def write(self, data: object) -> int:
        if self.tell() > 2000:
            raise BrokenPipeError
        return super().write(data)  # type: ignore[arg-type]


async def run(
    script: Script, out: io.BytesIO, agents: list[ScriptedAgent] | None = None
) -> tuple[int, ScriptedAgent]:
    agents = [] if agents is None else agents

    def make(ask: object) -> ScriptedAgent:
        agents.append(ScriptedAgent(ask, script))  # type: ignore[arg-type]
        return agents[0]

    request = RunRequest(prompt="go", cwd=Path.cwd(), ask="rules")
    with anyio.fail_after(10):
        code = await run_turn(request, JsonView(out, io.StringIO()), make, lambda rule: "")
    return code, agents[0]


async def test_a_run_shows_all_events_and_closes_the_agent() -> None:
    out = io.BytesIO()
    code, agent = await run(answers, out)
    assert code == 0
    assert agent.steps == ["open", "prompt go", "close"]
    shown = [json.loads(line) for line in out.getvalue().split(b"\n")[:-1]]
    assert [event["type"] for event in shown] == ["notice", "message_delta"]


async def test_an_agent_that_cannot_be_opened_is_an_error_by_itself() -> None:
    with pytest.raises(UnknownModel):
        await run(cannot_open, io.BytesIO())


async def test_when_nobody_reads_the_output_the_turn_is_stopped() -> None:
    code, agent = await run(talks_for_ever, ClosedPipe())
    assert code == 130
    assert agent.steps == ["open", "prompt go", "interrupt", "close"]


async def test_cancelling_the_run_closes_the_agent() -> None:
    agents: list[ScriptedAgent] = []
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(run, talks_for_ever, io.BytesIO(), agents)
            while not agents or agents[0].steps[-1] != "prompt go":
                await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()
    assert agents[0].steps == ["open", "prompt go", "close"]
