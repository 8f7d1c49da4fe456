"""Calls that are trusted less, in an agent of another process: nothing on the way forgets what they are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from shard_jupyter.errors import CommandError
from shard_jupyter.protocol.agent_commands import PermissionResponse
from shard_jupyter.protocol.results import AnswerTaken
from shard_jupyter.testing.scripted_provider import ScriptedProvider, call, recovered_call, say
from tests.scenarios.test_recorded_approvals import ALLOW, run
from tests.worker_rig import Listener, WorkerRig

pytestmark = pytest.mark.proves("A06", "B11")
READ = call("read", path="old.txt")
WRITE = recovered_call("write", path="a.txt", content="x\n")


@pytest.fixture
def model(rig: WorkerRig, tmp_path: Path) -> str:
    """A weak model that reads and then writes, the second in its text; played from a cassette."""
    (rig.project / "old.txt").write_text("old\n", encoding="utf-8")
    file = tmp_path / "weak.jsonl"

    async def record() -> None:
        provider = ScriptedProvider([READ, WRITE, say("Done.")], asks_every_call=True)
        await run(tmp_path / "w0", "go", answers=[ALLOW] * 2, provider=provider, record=file)

    anyio.run(record)
    return f"replay:{file}"


def begin(rig: WorkerRig, model: str) -> tuple[Listener, Callable[..., Any]]:
    """Prompt an agent that asks, and return what it says and how it is answered."""
    agent = rig.create(model=model, ask="inline")
    listener = rig.listen(agent)
    rig.prompt(agent, "go")

    def answer(decision: str, **fields: Any) -> AnswerTaken:
        request_id = listener.came[-1].request_id
        return rig.ask(
            PermissionResponse,
            AnswerTaken,
            agent_id=agent.id,
            request_id=request_id,
            decision=decision,
            **fields,
        )

    return listener, answer


def test_both_are_asked_and_the_second_says_that_it_is_no_real_call(
    rig: WorkerRig, model: str
) -> None:
    listener, answer = begin(rig, model)
    first = listener.until("permission_request")
    assert (first.tool, first.recovered, first.why) == (
        "read",
        False,
        "the model is small, so each call is asked",
    )
    answer("allow")
    second = listener.until("permission_request")
    assert (second.tool, second.recovered, second.offered_rules) == ("write", True, ())
    with pytest.raises(CommandError):
        answer("allow_always", rule={"effect": "allow", "tool": "write"})
    answer("allow")
    assert listener.until("turn_end").outcome == "completed"
    assert (rig.project / "a.txt").read_text(encoding="utf-8") == "x\n"


def test_what_a_person_makes_of_it_is_asked_again_as_what_it_is(rig: WorkerRig, model: str) -> None:
    listener, answer = begin(rig, model)
    listener.until("permission_request")
    answer("allow")
    listener.until("permission_request")
    answer("allow", arguments={"path": "b.txt", "content": "y\n"})
    again = listener.until("permission_request")
    assert (again.recovered, again.arguments["path"]) == (True, "b.txt")
    answer("deny")
    listener.until("turn_end")
    assert sorted(path.name for path in rig.project.glob("*.txt")) == ["old.txt"]


@pytest.mark.parametrize("ask", ["yes", "rules", "deny"])
def test_no_setting_of_one_turn_lets_it_through(rig: WorkerRig, model: str, ask: str) -> None:
    agent = rig.create(model=model, ask="inline")
    listener = rig.listen(agent)
    rig.prompt(agent, "go", ask=ask)
    denials = listener.until("turn_end").denials
    assert [one.tool for one in denials] == ["write" if ask == "yes" else "read"]
    assert not (rig.project / "a.txt").exists()
