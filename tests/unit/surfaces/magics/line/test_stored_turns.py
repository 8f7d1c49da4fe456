from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from shard_jupyter.core.lineage.active_branch import active_branch
from shard_jupyter.store.session_log import read_session
from shard_jupyter.surfaces.magics.line.replayed_events import NO_END, TurnReplay
from shard_jupyter.surfaces.magics.line.stored_turns import StoredTurn, split_turns, summarise
from shard_jupyter.surfaces.sdk.approvals import ApprovalAnswer
from shard_jupyter.surfaces.sdk.shard import Shard
from shard_jupyter.testing.scripted_provider import (
    ScriptedProvider,
    call,
    calls,
    fail,
    recovered_call,
    say,
    think,
)
from shard_jupyter.types.events import AgentEvent, PermissionRequest
from tests.entry_builders import assistant, result, user

pytestmark = pytest.mark.proves("D02")
TOLD = (
    "turn_start",
    "message_complete",
    "tool_call",
    "tool_result",
    "permission_request",
    "permission_resolved",
    "files_changed",
    "turn_end",
)
UNKNOWN_TO_THE_LOG = {
    "agent_id", "item_id", "seq", "render", "offered_rules", "would_allow", "expires_at", "mode", "approval",
}  # fmt: skip


async def answer(request: PermissionRequest) -> ApprovalAnswer:
    if "no.txt" in str(request.arguments):
        return ApprovalAnswer(decision="deny", note="not that one")
    return ApprovalAnswer(decision="allow")


async def run_turns(folder: Path, *prompts: str, script: list[Any]) -> tuple[list, list]:
    """Run prompts for real; return the events that were sent, and the turns that were stored."""
    sent: list[AgentEvent] = []
    with anyio.fail_after(20):
        async with Shard(
            cwd=folder, provider=ScriptedProvider(script), on_approval=answer
        ) as agent:
            agent.subscribe(sent.append)
            for prompt in prompts:
                await agent.prompt(prompt, check=False)
            session_id = agent.session_id
    log = next(folder.parent.glob(f"**/{session_id}/session.jsonl"))
    entries, _ = await read_session(log)
    return sent, list(split_turns(active_branch(entries).entries))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SHARD_HOME", str(tmp_path / "state"))
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def comparable(event: AgentEvent) -> dict[str, Any]:
    data = event.model_dump(mode="json")
    return {name: value for name, value in data.items() if name not in UNKNOWN_TO_THE_LOG}


def replayed(turn: StoredTurn) -> list[AgentEvent]:
    return list(TurnReplay(turn, "agent-x").events())


SCRIPT = [
    think("hm") + say("I write. ") + recovered_call("write", path="a.txt", content="one\n"),
    calls(call("write", path="no.txt", content="x"), call("read", path="missing.txt")),
    say("Done."),
    fail("auth", "no key"),
]


async def test_a_stored_turn_is_told_in_the_events_that_were_sent(folder: Path) -> None:
    sent, turns = await run_turns(folder, "first\nsecond line", "again", script=SCRIPT)
    told = [comparable(event) for event in sent if event.type in TOLD]
    again = [comparable(event) for turn in turns for event in replayed(turn)]
    assert len(told) > 12
    # The log knows no order between a question and what went on meanwhile; each has its own.
    for kind in TOLD:
        assert [event for event in again if event["type"] == kind] == [
            event for event in told if event["type"] == kind
        ]


async def test_turns_are_counted_and_summed_up(folder: Path) -> None:
    _, turns = await run_turns(folder, "first\nsecond line", "again", script=SCRIPT)
    first, second = map(summarise, turns)
    assert (first.number, first.prompt, first.answer) == (1, "first\nsecond line", "Done.")
    assert (first.outcome, first.steps, first.denied) == ("completed", 3, 1)
    assert first.changed_paths == (str(folder / "a.txt"),)
    assert first.usage.model_calls == 3
    assert (second.number, second.outcome, second.answer) == (2, "failed", "")
    assert second.steps == 0


async def test_what_nobody_could_be_asked_is_told_as_a_denial(folder: Path) -> None:
    script = [call("write", path="x", content="y"), say("All done!")]
    sent: list[AgentEvent] = []
    with anyio.fail_after(20):
        async with Shard(cwd=folder, provider=ScriptedProvider(script), ask="deny") as agent:
            agent.subscribe(sent.append)
            await agent.prompt("go", check=False)
            session_id = agent.session_id
    log = next(folder.parent.glob(f"**/{session_id}/session.jsonl"))
    turn = split_turns((await read_session(log))[0])[0]
    assert replayed(turn)[-1].denials == sent_end(sent).denials
    assert len(sent_end(sent).denials) == 1


def sent_end(sent: list[AgentEvent]) -> Any:
    return next(event for event in sent if event.type == "turn_end")


def test_a_turn_without_an_end_says_so_unless_it_runs() -> None:
    branch = [user("e1", None, "go"), assistant("e2", "e1", calls=("call-1",))]
    (killed,) = split_turns(branch)
    (running,) = split_turns(branch, last_is_running=True)
    assert replayed(killed)[-1].error == NO_END
    assert [event.type for event in replayed(running)] == [
        "turn_start", "message_complete", "tool_call",
    ]  # fmt: skip
    assert (summarise(killed).outcome, summarise(killed).is_running) == (None, False)
    assert summarise(running).is_running


def test_a_steer_belongs_to_its_turn_and_begins_none() -> None:
    branch = [
        user("e1", None, "go"),
        user("e2", "e1", "also this", steer=True),
        assistant("e3", "e2", "ok"),
    ]
    (turn,) = split_turns(branch)
    assert [event.type for event in replayed(turn)] == [
        "turn_start", "steer_injected", "message_complete", "turn_end",
    ]  # fmt: skip


def test_a_branch_that_begins_in_the_middle_of_a_turn_shows_the_whole_ones() -> None:
    branch = [result("e0", None, "call-0"), user("e1", "e0", "go")]
    (turn,) = split_turns(branch)
    assert summarise(turn).prompt == "go"
    assert split_turns([]) == ()


def test_time_is_that_of_the_log() -> None:
    branch = [
        user("e1", None, "go", timestamp="2026-03-01T12:00:00Z"),
        user("e2", "e1", "more", steer=True, timestamp="2026-03-01T12:00:07Z"),
        user("e3", "e2", "broken clock", steer=True, timestamp="?"),
    ]
    replay = TurnReplay(split_turns(branch)[0], "agent-x")
    times = [replay.clock() for _ in replay.events()]
    assert [moment - times[0] for moment in times] == [0.0, 7.0, 7.0, 7.0]
