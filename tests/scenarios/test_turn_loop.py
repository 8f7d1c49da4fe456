"""The turn loop end to end: real tools, real files, real log; only the model is scripted."""

from __future__ import annotations

import itertools
import json
import os
import random
from pathlib import Path

import anyio
import anyio.lowlevel
import psutil
import pytest

from shard_jupyter.errors import TurnFailed
from shard_jupyter.surfaces.sdk.approvals import ApprovalAnswer
from shard_jupyter.surfaces.sdk.shard import Shard
from shard_jupyter.testing.scripted_provider import (
    ScriptedProvider,
    call,
    calls,
    fail,
    hang,
    say,
)
from shard_jupyter.types.events import AgentEvent, UsageEvent
from shard_jupyter.types.usage import TokenUsage

pytestmark = pytest.mark.proves("A03", "B11")


def read_log(agent: Shard) -> list[dict]:
    path = Path(os.environ["SHARD_HOME"]) / "sessions" / agent.session_id / "session.jsonl"
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line]


def results(entries: list[dict]) -> list[dict]:
    return [entry for entry in entries if entry["type"] == "tool_result"]


def text_of(entry: dict) -> str:
    return "".join(part.get("text", "") for part in entry["content"])


async def test_a_call_is_run_and_its_result_goes_back_to_the_model(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("hello\n", encoding="utf-8")
    provider = ScriptedProvider([call("read", path="a.txt"), say("It says hello.")])
    with anyio.fail_after(10):
        async with Shard(cwd=tmp_path, provider=provider) as agent:
            result = await agent.prompt("what is in a.txt?")
            entries = read_log(agent)
    assert (result.outcome, result.text, result.rounds) == ("completed", "It says hello.", 2)
    second = provider.requests[1]
    assert second.messages[-1].role == "tool"
    assert "hello" in second.messages[-1].content[0].content[0].text
    types = [entry["type"] for entry in entries]
    assert types == ["session", "message", "message", "tool_result", "message", "turn_end"]


async def test_several_calls_of_a_message_run_in_order(tmp_path: Path) -> None:
    commands = [f"echo {n} >> log.txt" for n in range(4)]
    provider = ScriptedProvider(
        [calls(*(call("bash", command=command) for command in commands)), say("ok")]
    )
    with anyio.fail_after(20):
        async with Shard(cwd=tmp_path, provider=provider, ask="yes") as agent:
            await agent.prompt("go")
    assert (tmp_path / "log.txt").read_text(encoding="utf-8") == "0\n1\n2\n3\n"
    tool_message = provider.requests[1].messages[-1]
    asked = provider.requests[1].messages[-2].tool_calls
    assert [b.call_id for b in tool_message.content] == [c.call_id for c in asked]


async def test_entries_form_one_chain_from_the_leaf_to_the_root(tmp_path: Path) -> None:
    provider = ScriptedProvider([call("ls", path="."), say("a"), say("b")])
    with anyio.fail_after(10):
        async with Shard(cwd=tmp_path, provider=provider) as agent:
            await agent.prompt("one")
            await agent.prompt("two")
            entries = read_log(agent)
    for earlier, later in itertools.pairwise(entries[1:]):
        assert later["parentId"] == earlier["id"]


@pytest.mark.parametrize("command", ["{0}", "{0} & wait", "setsid {0} & {0}", "trap '' TERM; {0}"])
async def test_an_interrupt_kills_every_descendant_and_records_what_had_happened(
    tmp_path: Path, command: str
) -> None:
    sleeper = f"sleep {60 + random.random()}"
    command = command.format(sleeper)
    script = [
        calls(call("bash", command=f"echo started; {command}"), call("bash", command="echo no")),
        say("next turn works"),
    ]
    started = anyio.Event()

    def watch(event: AgentEvent) -> None:
        if event.type == "tool_progress" and "started" in event.text:
            started.set()

    got = []
    with anyio.fail_after(20):
        async with Shard(cwd=tmp_path, provider=ScriptedProvider(script), ask="yes") as agent:
            agent.subscribe(watch)

            async def ask() -> None:
                got.append(await agent.prompt("go", check=False))

            async with anyio.create_task_group() as group:
                group.start_soon(ask)
                await started.wait()
                with anyio.fail_after(2):
                    assert await agent.interrupt()
            assert not [p for p in psutil.process_iter() if _is_ours(p, sleeper)]
            closed = results(read_log(agent))
            assert (await agent.prompt("and now?")).text == "next turn works"
    assert got[0].outcome == "interrupted"
    assert [entry["status"] for entry in closed] == ["interrupted", "interrupted"]
    assert "started" in text_of(closed[0])


def _is_ours(process: psutil.Process, text: str) -> bool:
    try:
        return " ".join(process.cmdline()) == text
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return False


async def test_an_interrupt_while_the_model_is_silent_ends_the_turn(tmp_path: Path) -> None:
    provider = ScriptedProvider([hang(), say("again")])
    got = []
    with anyio.fail_after(10):
        async with Shard(cwd=tmp_path, provider=provider) as agent:

            async def ask() -> None:
                got.append(await agent.prompt("go", check=False))

            async with anyio.create_task_group() as group:
                group.start_soon(ask)
                while not provider.requests:
                    await anyio.lowlevel.checkpoint()
                await agent.interrupt()
            assert (await agent.prompt("x")).text == "again"
    assert got[0].outcome == "interrupted"


async def test_a_steer_reaches_the_model_at_its_next_call(tmp_path: Path) -> None:
    provider = ScriptedProvider([call("bash", command="echo on; sleep 0.3"), say("both")])
    on, replies, injected = anyio.Event(), [], []

    def watch(event: AgentEvent) -> None:
        if event.type == "tool_progress":
            on.set()
        if event.type == "steer_injected":
            injected.append(event.text)

    with anyio.fail_after(10):
        async with Shard(cwd=tmp_path, provider=provider, ask="yes") as agent:
            agent.subscribe(watch)

            async def steer() -> None:
                await on.wait()
                replies.append(await agent.steer("also the tests"))

            async with anyio.create_task_group() as group:
                group.start_soon(steer)
                await agent.prompt("go")
    assert (replies[0].status, injected) == ("injected", ["also the tests"])
    roles = [(m.role, m.text) for m in provider.requests[1].messages]
    assert roles[-1] == ("user", "also the tests")
    assert roles[-2][0] == "tool"


async def test_a_failed_model_call_fails_the_turn_with_a_next_step(tmp_path: Path) -> None:
    provider = ScriptedProvider([fail("auth", message="401 bad key")])
    with anyio.fail_after(10):
        async with Shard(cwd=tmp_path, provider=provider) as agent:
            with pytest.raises(TurnFailed, match=r"401 bad key.*shard doctor") as caught:
                await agent.prompt("go")
    assert caught.value.code == "auth"
    assert caught.value.result.outcome == "failed"


async def test_a_headless_denial_fails_the_run_whatever_the_model_says(tmp_path: Path) -> None:
    provider = ScriptedProvider([call("write", path="x", content="y"), say("All done!")])
    with anyio.fail_after(10):
        async with Shard(cwd=tmp_path, provider=provider) as agent:
            with pytest.raises(TurnFailed, match="would allow it") as caught:
                await agent.prompt("go")
            entries = read_log(agent)
    assert caught.value.code == "denied"
    assert not (tmp_path / "x").exists()
    assert results(entries)[0]["status"] == "denied"
    assert "Denied" in provider.requests[1].messages[-1].content[0].content[0].text


async def test_plan_mode_offers_and_runs_only_reading_tools(tmp_path: Path) -> None:
    answer = "## Implementation Plan\n1. Write x\n2. Test x"
    provider = ScriptedProvider([call("write", path="x", content="y"), say(answer), say("ok")])
    with anyio.fail_after(10):
        async with Shard(cwd=tmp_path, provider=provider, mode="plan", ask="yes") as agent:
            await agent.prompt("plan it")
            agent.set_mode("build")
            await agent.prompt("do it")
    offered = {tool.name for tool in provider.requests[0].tools}
    assert offered == {"read", "grep", "find", "ls"}
    assert not (tmp_path / "x").exists()
    assert "## Active Plan\n1. [ ] Write x\n2. [ ] Test x" in provider.requests[2].system
    assert "plan mode" in provider.requests[0].system
    assert {"write", "edit", "bash"} <= {tool.name for tool in provider.requests[2].tools}


async def test_the_callback_sees_the_change_before_it_is_made(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n", encoding="utf-8")
    seen = []

    async def approve(request) -> ApprovalAnswer:
        before = await anyio.Path(tmp_path / "a.py").read_text(encoding="utf-8")
        seen.append((request.tool, before, request.render))
        return ApprovalAnswer(decision="allow")

    edit = call("edit", path="a.py", old="x = 1", new="x = 2")
    provider = ScriptedProvider([edit, say("ok")])
    with anyio.fail_after(10):
        async with Shard(cwd=tmp_path, provider=provider, on_approval=approve) as agent:
            result = await agent.prompt("go")
    tool, before, render = seen[0]
    assert (tool, before) == ("edit", "x = 1\n")
    assert any(d.kind == "diff" and "+x = 2" in d.hunks[0].lines for d in render)
    assert (tmp_path / "a.py").read_text(encoding="utf-8") == "x = 2\n"
    assert result.changed_paths == (str(tmp_path / "a.py"),)


async def test_a_persons_denial_tells_the_model_and_does_not_fail_the_run(tmp_path: Path) -> None:
    async def deny(request) -> ApprovalAnswer:
        return ApprovalAnswer(decision="deny", note="not that file")

    provider = ScriptedProvider([call("write", path="x", content="y"), say("I did not.")])
    with anyio.fail_after(10):
        async with Shard(cwd=tmp_path, provider=provider, on_approval=deny) as agent:
            result = await agent.prompt("go")
    assert result.outcome == "completed"
    assert "not that file" in provider.requests[1].messages[-1].content[0].content[0].text


async def test_all_asks_of_a_message_are_open_before_the_first_is_answered(tmp_path: Path) -> None:
    opened, both = [], anyio.Event()

    async def wait_for_both(request) -> ApprovalAnswer:
        opened.append(request.call_id)
        if len(opened) == 2:
            both.set()
        await both.wait()
        return ApprovalAnswer(decision="allow")

    provider = ScriptedProvider(
        [calls(call("bash", command="touch a"), call("bash", command="touch b")), say("ok")]
    )
    with anyio.fail_after(10):
        async with Shard(cwd=tmp_path, provider=provider, on_approval=wait_for_both) as agent:
            await agent.prompt("go")
    assert len(set(opened)) == 2


async def test_allow_always_covers_the_same_call_again_and_is_kept(tmp_path: Path) -> None:
    asked = []

    async def always(request) -> ApprovalAnswer:
        asked.append(request)
        rule = request.offered_rules[0]
        return ApprovalAnswer(decision="allow_always", rule=rule, keep="agent")

    touch = call("bash", command="touch hi")
    provider = ScriptedProvider([touch, touch, say("ok")])
    with anyio.fail_after(10):
        async with Shard(cwd=tmp_path, provider=provider, on_approval=always) as agent:
            await agent.prompt("go")
            session_id = agent.session_id
        again = ScriptedProvider([touch, say("ok")])
        async with Shard(
            cwd=tmp_path, provider=again, on_approval=always, session=session_id
        ) as agent:
            await agent.prompt("again")
    assert len(asked) == 1


async def test_an_ask_that_nobody_answers_is_a_denial(tmp_path: Path) -> None:
    provider = ScriptedProvider([call("bash", command="touch hi"), say("ok")])
    with anyio.fail_after(10):
        async with Shard(
            cwd=tmp_path,
            provider=provider,
            ask="inline",
            overrides={"ask_timeout_seconds": 0.05},
        ) as agent:
            result = await agent.prompt("go", check=False)
    assert [d.tool for d in result.denials] == ["bash"]


async def test_an_interrupt_takes_back_every_open_question(tmp_path: Path) -> None:
    questions, resolved = [], []

    def watch(event: AgentEvent) -> None:
        if event.type == "permission_request":
            questions.append(event.request_id)
        if event.type == "permission_resolved":
            resolved.append((event.request_id, event.decision.kind))

    provider = ScriptedProvider(
        [calls(call("bash", command="touch a"), call("bash", command="touch b"))]
    )
    with anyio.fail_after(10):
        async with Shard(cwd=tmp_path, provider=provider, ask="inline") as agent:
            agent.subscribe(watch)
            async with anyio.create_task_group() as group:
                group.start_soon(lambda: agent.prompt("go", check=False))
                while len(questions) < 2:
                    await anyio.lowlevel.checkpoint()
                await agent.interrupt()
    assert sorted(resolved) == sorted((q, "deny") for q in questions)


async def test_a_timeout_stops_the_turn_as_a_limit(tmp_path: Path) -> None:
    with anyio.fail_after(10):
        async with Shard(cwd=tmp_path, provider=ScriptedProvider([hang()])) as agent:
            with pytest.raises(TurnFailed, match="--timeout") as caught:
                await agent.prompt("go", timeout_seconds=0.05)
    assert caught.value.result.outcome == "limit_reached"


async def test_a_budget_in_tokens_stops_before_the_next_model_call(tmp_path: Path) -> None:
    used = TokenUsage(input_tokens=1, output_tokens=1)
    script = [say("", tokens=used) + call("ls", path="."), say("never asked")]
    provider = ScriptedProvider(script)
    with anyio.fail_after(10):
        async with Shard(cwd=tmp_path, provider=provider, budget="1") as agent:
            result = await agent.prompt("go", check=False)
    assert result.outcome == "limit_reached"
    assert len(provider.requests) == 1


async def test_a_session_goes_on_where_it_was(tmp_path: Path) -> None:
    with anyio.fail_after(10):
        async with Shard(cwd=tmp_path, provider=ScriptedProvider([say("Ada")])) as agent:
            await agent.prompt("my name is Ada")
            session_id = agent.session_id
        provider = ScriptedProvider([say("Ada!")])
        async with Shard(cwd=tmp_path, provider=provider, session=session_id) as agent:
            await agent.prompt("who am I?")
    texts = [message.text for message in provider.requests[0].messages]
    assert texts == ["my name is Ada", "Ada", "who am I?"]


async def test_a_usage_record_is_kept_for_every_model_call(tmp_path: Path) -> None:
    provider = ScriptedProvider([call("ls", path="."), say("ok")])
    with anyio.fail_after(10):
        async with Shard(cwd=tmp_path, provider=provider) as agent:
            result = await agent.prompt("secret words")
    log = (Path(os.environ["SHARD_HOME"]) / "usage.jsonl").read_text(encoding="utf-8")
    records = [json.loads(line) for line in log.split("\n") if line]
    assert len(records) == result.usage.model_calls == 2
    assert "secret words" not in log


async def test_an_answer_without_a_model_call_leaves_the_window_as_full_as_it_was(
    tmp_path: Path,
) -> None:
    """A small model is not asked about a failure: nothing was read, and nothing was let go."""
    used = TokenUsage(input_tokens=300, output_tokens=20)
    asked = say("", tokens=used) + call("read", path="missing.txt")
    unasked = say("It failed.", tokens=TokenUsage(input_tokens=0, output_tokens=0))
    events: list[AgentEvent] = []
    with anyio.fail_after(10):
        async with Shard(cwd=tmp_path, provider=ScriptedProvider([asked, unasked])) as agent:
            agent.subscribe(events.append)
            await agent.prompt("Read it.")
    sizes = [event.context_tokens for event in events if isinstance(event, UsageEvent)]
    assert sizes == [320, 320]


async def test_a_tool_that_does_not_exist_is_an_error_for_the_model(tmp_path: Path) -> None:
    provider = ScriptedProvider([call("no_such_tool", x=1), say("sorry")])
    with anyio.fail_after(10):
        async with Shard(cwd=tmp_path, provider=provider) as agent:
            await agent.prompt("go")
    result = provider.requests[1].messages[-1].content[0]
    assert result.is_error
    assert "Tools: " in result.content[0].text


async def test_the_system_prompt_is_at_most_a_thousand_tokens(tmp_path: Path) -> None:
    provider = ScriptedProvider([say("ok")])
    with anyio.fail_after(10):
        async with Shard(cwd=tmp_path, provider=provider) as agent:
            await agent.prompt("go")
    # Three bytes a token is a cautious bound for English prose.
    assert len(provider.requests[0].system.encode()) < 3 * 1000
