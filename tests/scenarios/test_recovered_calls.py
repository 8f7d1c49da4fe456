"""A call that was read from a model's text, and the calls of a weak model, from answer to effect."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import anyio
import pytest
from inline_snapshot import snapshot

from shard_jupyter import ApprovalAnswer, Shard
from shard_jupyter.errors import CommandError
from shard_jupyter.store.session_log import read_session
from shard_jupyter.testing.scripted_provider import (
    ScriptedProvider,
    Step,
    call,
    calls,
    recovered_call,
    say,
    tell,
)
from shard_jupyter.types.content import ToolCallBlock
from shard_jupyter.types.decisions import Rule
from shard_jupyter.types.events import AgentEvent, PermissionRequest
from tests.agent_rig import AgentRig, open_agent
from tests.scenarios.test_recorded_approvals import ALLOW, Run, deny, run
from tests.turn_checks import check_order

pytestmark = pytest.mark.proves("A06", "B11")
WRITE = recovered_call("write", path="a.txt", content="x\n")
READ = call("read", path="old.txt")
ANYTHING = Rule(effect="allow", tool="*")
FROM_TEXT = "it was read from the model's text, not from a call"


async def prompt_once(folder: Path, *script: Step, answers: list[str], **options: Any) -> AgentRig:
    """Prompt once; each question gets the next answer."""
    with anyio.fail_after(15):
        async with open_agent(folder, *script, say("ok"), **options) as rig:
            (rig.cwd / "old.txt").write_text("old\n", encoding="utf-8")

            def pass_on(event: AgentEvent) -> None:
                if isinstance(event, PermissionRequest):
                    answer = answers.pop(0)
                    asyncio.get_running_loop().call_soon(
                        lambda: rig.session.answer_permission(event.request_id, answer, by="me")
                    )

            rig.session.subscribe(pass_on)
            rig.result = await rig.session.prompt("go")
            check_order(rig)
            rig.stored = rig.log()
    assert answers == []
    return rig


@pytest.mark.parametrize("answer", ["allow", "deny"])
async def test_it_is_asked_against_an_allow_rule_and_the_answer_counts(
    tmp_path: Path, answer: str
) -> None:
    rig = await prompt_once(tmp_path, WRITE, answers=[answer], ask="inline", rules=[ANYTHING])
    assert (rig.cwd / "a.txt").exists() is (answer == "allow")
    (question,) = rig.seen("permission_request")
    assert (question.recovered, question.why, question.offered_rules) == (True, FROM_TEXT, ())
    assert [event.recovered for event in rig.seen("tool_call")] == [True]


async def test_no_grant_can_be_given_with_it_nor_lets_the_next_one_through(
    tmp_path: Path,
) -> None:
    asked: list[str] = []
    with anyio.fail_after(15):
        script = [call("write", path="a.txt", content="1"), WRITE, say("ok")]
        async with open_agent(tmp_path, *script, ask="inline") as rig:

            def answer(request: PermissionRequest) -> None:
                asked.append(request.why)
                give = rig.session.answer_permission
                rule = Rule(effect="allow", tool="write", path="a.txt", source="run")
                if request.recovered:
                    with pytest.raises(CommandError, match="offers"):
                        give(request.request_id, "allow_always", by="me", rule=rule)
                    give(request.request_id, "deny", by="me")
                else:
                    give(request.request_id, "allow_always", by="me", rule=rule)

            def pass_on(event: AgentEvent) -> None:
                if isinstance(event, PermissionRequest):
                    asyncio.get_running_loop().call_soon(answer, event)

            rig.session.subscribe(pass_on)
            await rig.session.prompt("go")
    assert asked == ["no rule allows it", FROM_TEXT]
    assert (rig.cwd / "a.txt").read_text(encoding="utf-8") == "1"


@pytest.mark.parametrize("ask", ["yes", "rules", "deny", "recorded"])
async def test_where_nobody_looks_it_is_denied_even_with_ask_yes(tmp_path: Path, ask: str) -> None:
    rig = await prompt_once(tmp_path, WRITE, answers=[], ask=ask, rules=[ANYTHING])
    assert not (rig.cwd / "a.txt").exists()
    (denial,) = rig.result.denials
    assert denial.would_allow == ""
    if ask == "yes":
        assert denial.reason == snapshot(
            "Nobody has looked at it, and it was read from the model's text, not from a call: "
            "ask=yes does not allow such a call."
        )


async def test_a_real_call_beside_it_runs_with_ask_yes(tmp_path: Path) -> None:
    step = calls(call("write", path="b.txt", content="x\n"), WRITE)
    rig = await prompt_once(tmp_path, step, answers=[], ask="yes")
    assert sorted(path.name for path in rig.cwd.iterdir()) == ["b.txt", "old.txt"]
    assert [event.recovered for event in rig.seen("tool_call")] == [False, True]


async def test_the_log_keeps_that_it_was_read_from_text(tmp_path: Path) -> None:
    await prompt_once(tmp_path, calls(WRITE, READ), answers=["allow"], ask="inline")
    entries, _ = await read_session(tmp_path / "session" / "session.jsonl")
    kept = [
        (block.name, block.recovered)
        for entry in entries
        for block in getattr(entry, "content", ())
        if isinstance(block, ToolCallBlock)
    ]
    assert kept == [("write", True), ("read", False)]


async def test_each_call_of_a_weak_model_is_asked_a_read_too(tmp_path: Path) -> None:
    options: dict[str, Any] = {"ask": "inline", "asks_every_call": True}
    rig = await prompt_once(tmp_path, READ, answers=["allow"], **options)
    (question,) = rig.seen("permission_request")
    assert question.why == "the model is small, so each call is asked"
    assert [status for status, _ in rig.results()] == ["ok"]


async def test_a_strong_model_reads_without_a_question(tmp_path: Path) -> None:
    rig = await prompt_once(tmp_path, READ, answers=[], ask="inline")
    assert rig.seen("permission_request") == []


async def test_a_rule_of_a_file_lets_a_weak_model_read(tmp_path: Path) -> None:
    rule = Rule(effect="allow", tool="read", path="old.txt")
    rig = await prompt_once(
        tmp_path, READ, answers=[], ask="rules", rules=[rule], asks_every_call=True
    )
    assert [status for status, _ in rig.results()] == ["ok"]
    denied = await prompt_once(
        tmp_path / "other", READ, answers=[], ask="rules", asks_every_call=True
    )
    (denial,) = denied.result.denials
    assert "the model is small" in denial.reason
    assert '"path": "old.txt"' in denial.would_allow


async def test_what_a_provider_tells_is_a_notice_before_the_answer(tmp_path: Path) -> None:
    step = tell("loading", "The model is being loaded.") + say("hello")
    with anyio.fail_after(15):
        async with open_agent(tmp_path, step) as rig:
            await rig.session.prompt("go")
    types = [event.type for event in rig.events]
    (notice,) = rig.seen("notice")
    assert (notice.code, notice.message) == ("loading", "The model is being loaded.")
    assert types.index("notice") < types.index("message_delta")


ANSWERS = [ALLOW, ALLOW, deny("not that")]


async def record(folder: Path, file: Path, answers: list[ApprovalAnswer]) -> Run:
    other = recovered_call("write", path="b.txt", content="y\n")
    provider = ScriptedProvider([READ, WRITE, other, say("Done.")], asks_every_call=True)
    return await run(folder, "go", answers=answers, provider=provider, record=file)


@pytest.mark.proves("E04")
async def test_a_cassette_plays_the_persons_answer_to_it(tmp_path: Path) -> None:
    files = [tmp_path / "0.jsonl", tmp_path / "1.jsonl"]
    recorded = await record(tmp_path / "w0", files[0], ANSWERS)
    assert recorded.files() == {"old.txt": "old\n", "a.txt": "x\n"}
    played = await run(tmp_path / "w1", "go", model=f"replay:{files[0]}", record=files[1])
    assert played.end() == recorded.end()
    assert [kind for _, kind, _ in played.questions()] == ["allow", "allow", "deny"]
    marks = [event.recovered for event in played.events if isinstance(event, PermissionRequest)]
    assert marks == [False, True, True]
    assert files[1].read_bytes() == files[0].read_bytes()


@pytest.mark.proves("E04")
async def test_without_the_answer_a_replay_denies_it_whatever_the_rules_say(
    tmp_path: Path,
) -> None:
    file = tmp_path / "run.jsonl"
    await record(tmp_path / "w0", file, ANSWERS)
    lines = file.read_text(encoding="utf-8").split("\n")
    kept = [line for line in lines if '"approval", "tool": "write"' not in line]
    assert len(lines) == len(kept) + 2
    file.write_text("\n".join(kept), encoding="utf-8")
    folder = tmp_path / "w1"
    folder.mkdir()
    (folder / "old.txt").write_text("old\n", encoding="utf-8")
    rules = {"permissions.rules": [{"effect": "allow", "tool": "write"}]}
    with anyio.fail_after(30):
        options: dict[str, Any] = {"model": f"replay:{file}", "overrides": rules}
        async with Shard(cwd=folder, environ=dict(os.environ), **options) as agent:
            result = await agent.prompt("go", check=False)
    assert sorted(path.name for path in folder.iterdir()) == ["old.txt"]
    assert [(denial.tool, denial.would_allow) for denial in result.denials] == [("write", "")]


@pytest.mark.proves("E04")
async def test_the_answer_to_a_real_call_is_not_played_to_one_that_was_read_from_text(
    tmp_path: Path,
) -> None:
    """A rule that allows the real call leaves its recorded answer over."""
    real = call("write", path="a.txt", content="x\n")
    file = tmp_path / "run.jsonl"
    provider = ScriptedProvider([real, WRITE, say("Done.")])
    await run(tmp_path / "w0", "go", answers=[ALLOW, deny("no")], provider=provider, record=file)
    rules = {"permissions.rules": [{"effect": "allow", "tool": "write"}]}
    played = await run(tmp_path / "w1", "go", model=f"replay:{file}", overrides=rules)
    assert played.questions() == [("write", "deny", "cassette")]
