"""What one prompt may ask for in another way than its agent; afterwards all is as it was."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import anyio
import pytest

from shard_jupyter import ApprovalAnswer, Shard, SyncShard
from shard_jupyter.capabilities.cassettes.shelf import CassetteShelf
from shard_jupyter.core.limits.budget import Budget
from shard_jupyter.errors import AgentBusy, AgentClosed, TurnFailed, UsageError
from shard_jupyter.testing.scripted_provider import ScriptedProvider, call, fail, hang, say
from shard_jupyter.types.events import AgentEvent, PermissionRequest
from shard_jupyter.types.usage import TokenUsage

pytestmark = pytest.mark.proves("B11", "A06", "E04")
ALLOW_TOUCH = {"permissions.rules": [{"effect": "allow", "tool": "bash"}]}
TOUCH = call("bash", command="touch made")
COUNTED = TokenUsage(input_tokens=60, output_tokens=40)
PRICES = {f"prices.scripted:test.{part}_usd_per_million": 1e4 for part in ("input", "output")}


def log_of(session: str) -> list[dict[str, Any]]:
    log = Path(os.environ["SHARD_HOME"], "sessions", session, "session.jsonl")
    return [json.loads(line) for line in log.read_bytes().split(b"\n") if line]


async def test_who_decides_is_asked_for_turn_by_turn(tmp_path: Path) -> None:
    """Allow rules count in each turn as its own `ask` says, whatever the agent was made with."""
    steps = [step for _ in range(5) for step in (TOUCH, say("ok"))]
    denied = []
    with anyio.fail_after(20):
        async with Shard(
            cwd=tmp_path, provider=ScriptedProvider(steps), ask="deny", overrides=ALLOW_TOUCH
        ) as agent:
            for ask in (None, "rules", "deny", "yes", None):
                result = await agent.prompt("go", ask=ask, check=False)  # type: ignore[arg-type]
                denied.append(len(result.denials))
    assert denied == [1, 0, 1, 0, 1]


async def test_a_subscriber_answers_a_turn_that_asks_without_a_callback(tmp_path: Path) -> None:
    write = call("write", path="a", content="x")
    provider = ScriptedProvider([write, say("ok"), write, say("ok")])
    with anyio.fail_after(20):
        async with Shard(cwd=tmp_path, provider=provider) as agent:

            def answer(event: AgentEvent) -> None:
                if isinstance(event, PermissionRequest):
                    agent.session.answer_permission(event.request_id, "allow", by="client")

            agent.subscribe(answer)
            await agent.prompt("go", ask="inline")
            with pytest.raises(TurnFailed) as caught:
                await agent.prompt("go")
    assert caught.value.code == "denied"


async def test_a_callback_is_not_called_in_a_turn_where_others_decide(tmp_path: Path) -> None:
    asked: list[str] = []

    async def approve(request: PermissionRequest) -> ApprovalAnswer:
        asked.append(request.turn_id or "")
        return ApprovalAnswer(decision="allow")

    provider = ScriptedProvider([step for _ in range(3) for step in (TOUCH, say("ok"))])
    with anyio.fail_after(20):
        async with Shard(cwd=tmp_path, provider=provider, on_approval=approve) as agent:
            await agent.prompt("go", turn_id="turn-1")
            await agent.prompt("go", turn_id="turn-2", ask="yes")
            result = await agent.prompt("go", turn_id="turn-3")
    assert asked == ["turn-1", "turn-3"]
    assert result.turn_id == "turn-3"


@pytest.mark.parametrize("ending", ["interrupted", "cancelled", "failed"])
async def test_after_a_turn_that_broke_off_the_agent_is_as_before(
    ending: str, tmp_path: Path
) -> None:
    cassette = tmp_path / "run.jsonl"
    broken = fail("bad_request") if ending == "failed" else hang()
    provider = ScriptedProvider([broken, TOUCH, say("ok")])
    options: dict[str, Any] = {"ask": "yes", "budget": "1", "record": cassette, "check": False}
    with anyio.fail_after(20):
        async with Shard(cwd=tmp_path, provider=provider) as agent:
            async with anyio.create_task_group() as group:
                group.start_soon(lambda: agent.prompt("go", **options))
                if ending != "failed":
                    await provider.wait_until_hanging()
                if ending == "interrupted":
                    await agent.interrupt()
                elif ending == "cancelled":
                    group.cancel_scope.cancel()
            before = await anyio.Path(cassette).read_bytes() if ending == "failed" else b""
            result = await agent.prompt("and now", check=False)
            ends = [e["outcome"] for e in log_of(agent.session_id) if e["type"] == "turn_end"]
    assert ends == [ending, "completed"]
    assert len(result.denials) == 1, "rules decide again"
    assert (cassette.read_bytes() if cassette.exists() else b"") == before


async def test_a_turn_has_a_budget_of_its_own_besides_that_of_the_agent(tmp_path: Path) -> None:
    steps = [call("read", path="a") + say("", tokens=COUNTED) for _ in range(9)]
    provider = ScriptedProvider(steps)
    told = []
    with anyio.fail_after(20):
        async with Shard(cwd=tmp_path, provider=provider, budget="450") as agent:
            for budget in ("150", Budget(tokens=100), None, None):
                result = await agent.prompt("go", budget=budget, check=False)
                assert result.error is not None
                told.append((result.outcome, result.error.message))
    assert told == [
        ("limit_reached", "The turn's budget of 150 tokens is used up: 200 were used."),
        ("limit_reached", "The turn's budget of 100 tokens is used up: 100 were used."),
        ("limit_reached", "The budget of 450 tokens is used up: 500 were used."),
        ("limit_reached", "The budget of 450 tokens is used up: 500 were used."),
    ]


async def test_a_turn_may_have_a_budget_in_money(tmp_path: Path) -> None:
    provider = ScriptedProvider([call("read", path="a") + say("", tokens=COUNTED)] * 3)
    with anyio.fail_after(20):
        async with Shard(cwd=tmp_path, provider=provider, overrides=PRICES) as agent:
            with pytest.raises(TurnFailed, match=r"turn's budget of \$1.5 is used up") as caught:
                await agent.prompt("go", budget="$1.50")
    assert caught.value.code == "budget_usd"


WRONG: list[dict[str, Any]] = [
    {"ask": "perhaps"},
    {"ask": "recorded"},
    {"budget": "a lot"},
    {"budget": "$1"},
    {"budget": Budget(usd=1.0)},
    {"record": "/does/not/exist/x.jsonl"},
    {"record": "a\0b"},
    {"record": "a\0/b"},
    {"record": "x" * 300},
    {"record": "."},
    {"timeout_seconds": 0},
    {"turn_id": "a b"},
    {"text": " "},
    {"text": "half \ud800", "record": "x.jsonl"},
]


@pytest.mark.parametrize("options", WRONG)
async def test_what_is_refused_before_the_turn_leaves_nothing(
    options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    events: list[AgentEvent] = []
    with anyio.fail_after(10):
        async with Shard(cwd=tmp_path, provider=ScriptedProvider([say("ok")])) as agent:
            agent.subscribe(events.append)
            before = log_of(agent.session_id)
            with pytest.raises(UsageError) as caught:
                await agent.prompt(**{"text": "go", **options})
            assert caught.value.next_step
            assert log_of(agent.session_id) == before
            assert events == []
            assert list(tmp_path.iterdir()) == []
            assert (await agent.prompt("go")).text == "ok"


async def test_a_busy_or_closed_agent_takes_no_recording_prompt(tmp_path: Path) -> None:
    cassette = tmp_path / "run.jsonl"
    provider = ScriptedProvider([hang()])
    agent = Shard(cwd=tmp_path, provider=provider)
    with pytest.raises(AgentClosed):
        await agent.prompt("go", record=cassette)
    with anyio.fail_after(10):
        async with agent, anyio.create_task_group() as group:
            group.start_soon(lambda: agent.prompt("go", check=False))
            await provider.wait_until_hanging()
            with pytest.raises(AgentBusy):
                await agent.prompt("me too", record=cassette, ask="yes")
            await agent.interrupt()
        with pytest.raises(AgentClosed):
            await agent.prompt("go", record=cassette)
    assert not cassette.exists()


async def test_turns_of_several_agents_go_into_one_cassette_which_plays_for_each(
    tmp_path: Path,
) -> None:
    file, shelf = tmp_path / "run.jsonl", CassetteShelf()
    file.write_text("of another time", encoding="utf-8")
    (tmp_path / "link").symlink_to(file)
    with anyio.fail_after(20):
        first = ScriptedProvider([say("one"), say("unheard"), say("two")])
        async with (
            Shard(cwd=tmp_path, provider=first, shelf=shelf) as one,
            Shard(cwd=tmp_path, provider=ScriptedProvider([say("three")]), shelf=shelf) as other,
        ):
            await one.prompt("a", record=file)
            await one.prompt("not this")
            await other.prompt("c", record=tmp_path / "link")
        # What was said without a record is still part of the conversation, and so of its requests.
        data = file.read_bytes()
        async with Shard(cwd=tmp_path, model=f"replay:{file}") as player:
            assert (await player.prompt("a")).text == "one"
        async with Shard(cwd=tmp_path, model=f"replay:{file}") as player:
            assert (await player.prompt("c")).text == "three"
        async with Shard(cwd=tmp_path, provider=ScriptedProvider([say("new")])) as agent:
            await agent.prompt("x", record=file)
    assert data.count(b'"type": "cassette"') == data.count(b'"type": "system"') == 1
    assert b"unheard" not in data
    assert b'"one"' not in file.read_bytes(), "another process, so to say, starts it anew"


async def test_a_turn_can_be_recorded_besides_the_whole_life_and_not_twice_to_one_file(
    tmp_path: Path,
) -> None:
    life, own, again = (tmp_path / name for name in ("life.jsonl", "own.jsonl", "again.jsonl"))
    script = [call("write", path="a", content="x"), say("ok"), say("more")]

    async def record(file: Path, **options: Any) -> None:
        def answer(event: AgentEvent) -> None:
            if isinstance(event, PermissionRequest):
                agent.session.answer_permission(event.request_id, "allow", by="client")

        async with Shard(
            cwd=tmp_path, provider=ScriptedProvider(script), record=file, ask="inline"
        ) as agent:
            agent.subscribe(answer)
            await agent.prompt("go", **options)
            await agent.prompt("on")
        (tmp_path / "a").unlink()

    with anyio.fail_after(20):
        await record(life, record=own)
        await record(again, record=tmp_path / "." / "again.jsonl")
    assert life.read_bytes() == again.read_bytes()
    assert life.read_bytes().startswith(own.read_bytes())
    assert own.read_bytes().count(b'"approval"') == 1


def test_a_plain_script_has_the_same_options(tmp_path: Path) -> None:
    cassette = tmp_path / "run.jsonl"
    with SyncShard(cwd=tmp_path, provider=ScriptedProvider([TOUCH, say("ok")])) as agent:
        assert agent.prompt("go", ask="yes", record=cassette, timeout_seconds=30).text == "ok"
        agent.switch_model(f"replay:{cassette}")
        with pytest.raises(UsageError, match="is the one that is played"):
            agent.prompt("go", record=cassette)
