"""`Shard` as a program uses it, and as it uses it wrongly."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import anyio
import pytest

from shard_jupyter.core.limits.budget import Budget
from shard_jupyter.errors import (
    AgentClosed,
    ConfigError,
    SessionNotFound,
    StorageError,
    TurnFailed,
    UnknownMode,
    UnknownModel,
    UsageError,
    UserError,
    WriterBusy,
)
from shard_jupyter.surfaces.sdk.approvals import ApprovalAnswer
from shard_jupyter.surfaces.sdk.shard import Shard
from shard_jupyter.testing.scripted_provider import ScriptedProvider, call, say
from shard_jupyter.types.ids import new_id

pytestmark = pytest.mark.proves("B11")


async def approve(request: object) -> ApprovalAnswer:
    return ApprovalAnswer(decision="allow")


def sessions() -> list[str]:
    folder = Path(os.environ["SHARD_HOME"]) / "sessions"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


WRONG: list[tuple[dict[str, Any], type[UserError]]] = [
    ({"ask": "perhaps"}, UsageError),
    ({"ask": "rules", "on_approval": approve}, UsageError),
    ({"mode": "bild"}, UnknownMode),
    ({"model": "gpt-5"}, UnknownModel),
    ({"model": "nothing:x"}, UnknownModel),
    ({"model": "openai:gpt-5"}, UserError),
    ({}, UnknownModel),
    ({"session": new_id("session")}, SessionNotFound),
    ({"session": "../../etc"}, UsageError),
    ({"budget": "a lot"}, UsageError),
    ({"budget": "$1.50"}, UsageError),
    ({"budget": Budget(usd=1.0)}, UsageError),
    ({"overrides": {"colour": "red"}}, UsageError),
    ({"overrides": {"limits.max_rounds": "many"}}, ConfigError),
    ({"cwd": "/does/not/exist"}, UsageError),
    ({"record": "/does/not/exist/x.jsonl"}, UsageError),
]


@pytest.mark.parametrize(("options", "error"), WRONG)
async def test_a_wrong_argument_is_refused_with_a_next_step_and_leaves_nothing(
    tmp_path: Path, options: dict[str, Any], error: type[UserError]
) -> None:
    provider = ScriptedProvider([say("never")])
    given = {} if error is UnknownModel or "model" in options else {"provider": provider}
    with anyio.fail_after(10):
        with pytest.raises(error) as caught:
            async with Shard(**{"cwd": tmp_path, **given, **options}):
                pass
    assert caught.value.next_step
    assert str(caught.value).endswith(caught.value.next_step)
    assert sessions() == []
    assert provider.closed is bool(given)


@pytest.mark.parametrize("text", ["", "  \n", "half \ud800"])
async def test_a_prompt_that_says_nothing_or_is_no_text_is_refused(
    tmp_path: Path, text: str
) -> None:
    with anyio.fail_after(10):
        async with Shard(cwd=tmp_path, provider=ScriptedProvider([say("ok")])) as agent:
            with pytest.raises(UsageError) as caught:
                await agent.prompt(text)
            assert caught.value.next_step
            assert (await agent.prompt("good")).text == "ok"


@pytest.mark.parametrize("seconds", [0, -1, float("nan")])
async def test_no_time_is_refused(tmp_path: Path, seconds: float) -> None:
    with anyio.fail_after(10):
        async with Shard(cwd=tmp_path, provider=ScriptedProvider([])) as agent:
            with pytest.raises(UsageError, match="leaves no time"):
                await agent.prompt("go", timeout_seconds=seconds)


@pytest.mark.parametrize(
    "text", ["x" * 5_000_000, "a\0b", "a\u2028\u2029\x85\v\f\r", "é\U0001f600"]
)
async def test_any_text_reaches_the_model_as_it_is_and_comes_back_after_a_restart(
    tmp_path: Path, text: str
) -> None:
    provider = ScriptedProvider([say("ok"), say("ok")])
    with anyio.fail_after(20):
        async with Shard(cwd=tmp_path, provider=provider) as agent:
            await agent.prompt(text)
            # Taken up again from its own log, in the same process.
            assert await agent.session.resume() == 2
            await agent.prompt("and?")
            session = agent.session_id
        again = ScriptedProvider([say("ok")])
        async with Shard(cwd=tmp_path, provider=again, session=session) as agent:
            await agent.prompt("again")
    for request in (*provider.requests, *again.requests):
        assert request.messages[0].text == text


async def test_before_it_is_open_and_after_it_is_closed_nothing_can_be_asked(
    tmp_path: Path,
) -> None:
    agent = Shard(cwd=tmp_path, provider=ScriptedProvider([]))
    with pytest.raises(AgentClosed, match="not open"):
        await agent.prompt("x")
    with anyio.fail_after(10):
        async with agent:
            pass
        await agent.aclose()
        await agent.aclose()
        with pytest.raises(AgentClosed):
            await agent.prompt("x")
        with pytest.raises(AgentClosed):
            agent.set_mode("plan")
        assert not await agent.interrupt()
        assert (await agent.steer("x")).status == "conflict"


async def test_one_that_was_used_is_not_used_again(tmp_path: Path) -> None:
    agent = Shard(cwd=tmp_path, provider=ScriptedProvider([say("a")]))
    with anyio.fail_after(10):
        async with agent:
            with pytest.raises(UsageError, match="used before"):
                await agent.__aenter__()
            # The refusal has not taken away what is open.
            assert (await agent.prompt("x")).text == "a"
        with pytest.raises(UsageError, match="used before"):
            await agent.__aenter__()


async def test_two_agents_on_one_session_do_not_mix_and_the_lock_is_let_go(tmp_path: Path) -> None:
    with anyio.fail_after(10):
        async with Shard(cwd=tmp_path, provider=ScriptedProvider([say("a"), say("b")])) as one:
            await one.prompt("x")
            second = ScriptedProvider([])
            with pytest.raises(WriterBusy) as caught:
                async with Shard(cwd=tmp_path, provider=second, session=one.session_id):
                    pass
            assert caught.value.next_step
            assert second.closed
            assert (await one.prompt("y")).text == "b"
        third = Shard(cwd=tmp_path, provider=ScriptedProvider([say("c")]), session=one.session_id)
        async with third:
            assert (await third.prompt("z")).text == "c"


async def test_an_opening_that_is_cancelled_lets_go_of_the_session(tmp_path: Path) -> None:
    with anyio.fail_after(30):
        async with Shard(cwd=tmp_path, provider=ScriptedProvider([say("a")])) as agent:
            await agent.prompt("x" * 100_000)
            session = agent.session_id
        opened = 0
        ticks = 1.0
        while opened < 3:
            ticks *= 1.1
            provider = ScriptedProvider([])
            agent = Shard(cwd=tmp_path, provider=provider, session=session)
            opened += await open_for(agent, int(ticks))
            assert provider.closed
        assert ticks > 50
        again = ScriptedProvider([say("b")])
        async with Shard(cwd=tmp_path, provider=again, session=session) as agent:
            assert (await agent.prompt("y")).text == "b"


async def open_for(agent: Shard, ticks: int) -> bool:
    """Open it, cancel after some turns of the loop, and say whether it had been open."""
    is_open = False

    async def enter() -> None:
        nonlocal is_open
        async with agent:
            is_open = True

    async with anyio.create_task_group() as group:
        group.start_soon(enter)
        for _ in range(ticks):
            await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()
    return is_open


async def test_a_session_in_another_folder_goes_on_without_its_grants(tmp_path: Path) -> None:
    asked: list[str] = []

    async def always(request: Any) -> ApprovalAnswer:
        asked.append(request.tool)
        return ApprovalAnswer(decision="allow_always", rule=request.offered_rules[0], keep="agent")

    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    session = None
    notices: list[str] = []
    with anyio.fail_after(20):
        for folder in (here, here, there, there, here):
            provider = ScriptedProvider([call("write", path="a", content="x"), say("ok")])
            agent = Shard(cwd=folder, provider=provider, session=session, on_approval=always)
            agent.subscribe(lambda e: notices.append(e.message) if e.type == "notice" else None)
            async with agent:
                await agent.prompt("go")
                session = agent.session_id
    assert asked == ["write", "write"]
    assert (here / "a").exists()
    assert (there / "a").exists()
    assert any("another folder" in notice for notice in notices)


async def test_a_session_whose_log_was_emptied_can_go_on(tmp_path: Path) -> None:
    session = new_id("session")
    log = Path(os.environ["SHARD_HOME"]) / "sessions" / session / "session.jsonl"
    log.parent.mkdir(parents=True)
    log.touch()
    with anyio.fail_after(10):
        provider = ScriptedProvider([say("ok")])
        async with Shard(cwd=tmp_path, provider=provider, session=session) as agent:
            assert (await agent.prompt("x")).text == "ok"
    types = [json.loads(line)["type"] for line in log.read_bytes().split(b"\n") if line]
    assert types == ["session", "message", "message", "turn_end"]


async def test_events_end_when_the_agent_is_closed_and_cost_nothing_once_unwanted(
    tmp_path: Path,
) -> None:
    with anyio.fail_after(10):
        async with Shard(cwd=tmp_path, provider=ScriptedProvider([say("a")] * 3)) as agent:
            events = agent.events()
            with agent.events() as unwanted:
                await agent.prompt("x")
            waiting = len(unwanted._waiting)
            await agent.prompt("y")
            assert len(unwanted._waiting) == waiting
        types = [event.type async for event in events]
    assert types.count("turn_end") == 2


async def test_a_checked_prompt_raises_and_still_gives_the_result(tmp_path: Path) -> None:
    with anyio.fail_after(10):
        async with Shard(
            cwd=tmp_path, provider=ScriptedProvider([say("half", stop="length")])
        ) as agent:
            with pytest.raises(TurnFailed, match="output limit") as caught:
                await agent.prompt("x")
    assert caught.value.code == "output_limit"
    assert caught.value.result.text == "half"


async def test_a_close_that_cannot_write_still_lets_go_of_everything(tmp_path: Path) -> None:
    ended: list[bool] = []

    class Failing(ScriptedProvider):
        async def aclose(self) -> None:
            raise StorageError("the cassette is gone")

    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            agent = Shard(cwd=tmp_path, provider=Failing([say("a")]))
            await agent.__aenter__()
            events = agent.events()

            async def read() -> None:
                async for _ in events:
                    pass
                ended.append(True)

            group.start_soon(read)
            await agent.prompt("x")
            with pytest.raises(StorageError, match="cassette"):
                await agent.aclose()
        provider = ScriptedProvider([say("b")])
        async with Shard(cwd=tmp_path, provider=provider, session=agent.session_id) as again:
            assert (await again.prompt("y")).text == "b"
    assert ended == [True]
