"""What a client is told with a question is what the call would do, and an edit is asked anew."""

from __future__ import annotations

import json
from pathlib import Path

import anyio
import pytest

from shard_jupyter import ApprovalAnswer, Shard
from shard_jupyter.testing.scripted_provider import ScriptedProvider, call, say
from shard_jupyter.types.events import AgentEvent, PermissionRequest, PermissionResolved
from tests.scenarios.test_permission_flow import WRITE, answer, run

pytestmark = pytest.mark.proves("A08", "A06", "T74")
TOUCH = call("bash", command="touch   'made'")


async def test_a_question_says_what_would_run_and_what_it_reaches(tmp_path: Path) -> None:
    rig = await run(tmp_path, TOUCH, answer)
    [question] = rig.seen("permission_request")
    approval = question.approval
    assert (approval.question, approval.why) == (question.prompt, question.why)
    assert (approval.state, approval.edited) == ("waiting", False)
    assert approval.facts.command == "touch made"
    assert approval.facts.written == "touch   'made'"
    assert approval.facts.writes == ("made",)
    assert approval.facts.network == ()
    assert (rig.cwd / "made").exists()


async def test_a_write_says_that_the_file_is_new(tmp_path: Path) -> None:
    rig = await run(tmp_path, WRITE, answer)
    [question] = rig.seen("permission_request")
    assert question.approval.facts.writes == ("a.txt",)
    assert question.approval.facts.undo.startswith("Yes: the file is new")
    assert question.approval.facts.rule == "write a.txt"


async def test_an_edited_command_is_asked_again_in_the_form_that_runs(tmp_path: Path) -> None:
    edited = {"command": "touch   'other'"}
    rig = await run(tmp_path, TOUCH, lambda rig, q: answer(rig, q, arguments=edited), answer)
    first, second = rig.seen("permission_request")
    assert (first.approval.edited, second.approval.edited) == (False, True)
    assert second.approval.facts.command == "touch other"
    assert sorted(path.name for path in rig.cwd.iterdir()) == ["other"]


async def test_an_edited_command_that_is_then_denied_does_not_run(tmp_path: Path) -> None:
    edited = {"command": "touch other"}
    rig = await run(
        tmp_path,
        TOUCH,
        lambda rig, q: answer(rig, q, arguments=edited),
        lambda rig, q: answer(rig, q, "deny"),
    )
    assert list(rig.cwd.iterdir()) == []


@pytest.mark.proves("E04", "T81")
@pytest.mark.parametrize("keep", ["agent", "project", "everywhere"])
async def test_a_recorded_always_plays_again_for_the_session_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keep: str
) -> None:
    """Who plays a recording of somebody else gets none of their rules."""
    script = [WRITE, call("write", path="a.txt", content="again\n"), say("Done.")]
    cassette = tmp_path / "talk.jsonl"

    async def approve(request: PermissionRequest) -> ApprovalAnswer:
        rule = request.offered_rules[0]
        return ApprovalAnswer(decision="allow_always", rule=rule, keep=keep)

    async def play(name: str, **options: object) -> list[AgentEvent]:
        monkeypatch.setenv("SHARD_HOME", str(tmp_path / f"state-{name}"))
        folder = tmp_path / name
        folder.mkdir()
        events: list[AgentEvent] = []
        with anyio.fail_after(30):
            agent = Shard(cwd=folder, **options)  # type: ignore[arg-type]
            agent.subscribe(events.append)
            async with agent:
                await agent.prompt("go")
        assert (folder / "a.txt").read_text(encoding="utf-8") == "again\n"
        return events

    recorded = await play(
        "recorded", provider=ScriptedProvider(script), on_approval=approve, record=cassette
    )
    replayed = await play("replayed", model=f"replay:{cassette}")
    decisions = [
        [event.decision.keep for event in events if isinstance(event, PermissionResolved)]
        for events in (recorded, replayed)
    ]
    assert decisions[0] == [keep] * len(decisions[0])
    assert decisions[1] == ["session"] * len(decisions[1])
    granted = tmp_path / "state-replayed/rules/granted.json"
    assert not granted.exists() or json.loads(granted.read_bytes())["rules"] == []
