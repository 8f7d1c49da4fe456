"""What every runtime promises (contracts/runtime.py): our loop and a scripted one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from shard_jupyter.contracts.runtime import Runtime
from shard_jupyter.errors import AgentBusy, AgentClosed, UsageError
from shard_jupyter.surfaces.sdk.shard import Shard
from shard_jupyter.testing.scripted_provider import ScriptedProvider, hang, say
from shard_jupyter.testing.scripted_runtime import HANG, ScriptedRuntime

pytestmark = pytest.mark.proves("A03", "A01")

Make = Callable[..., Awaitable[Runtime]]


@pytest.fixture(params=["native", "scripted"])
async def make_runtime(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Make]:
    """Answers in order; HANG is an answer that never comes by itself."""
    opened: list[Shard | ScriptedRuntime] = []

    async def make(*answers: str) -> Runtime:
        if request.param == "scripted":
            scripted = ScriptedRuntime(answers)
            opened.append(scripted)
            return scripted
        script = [hang() if answer == HANG else say(answer) for answer in answers]
        shard = Shard(cwd=tmp_path, provider=ScriptedProvider(script))
        await shard.__aenter__()
        opened.append(shard)
        return shard.session

    yield make
    for one in opened:
        await one.aclose()


async def wait_for_turn(runtime: Runtime) -> str:
    while runtime.active_turn is None:
        await anyio.lowlevel.checkpoint()
    return runtime.active_turn


async def test_a_prompt_is_answered_and_the_events_tell_the_same(make_runtime: Make) -> None:
    runtime = await make_runtime("hello")
    seen = []
    runtime.subscribe(seen.append)
    with anyio.fail_after(5):
        result = await runtime.prompt("hi", turn_id="turn-1")
    assert (result.turn_id, result.outcome, result.text) == ("turn-1", "completed", "hello")
    types = [event.type for event in seen]
    assert types[0] == "turn_start"
    assert "turn_end" in types
    assert next(e for e in seen if e.type == "turn_end").text == "hello"
    assert runtime.active_turn is None


async def test_a_second_prompt_while_one_runs_is_refused(make_runtime: Make) -> None:
    runtime = await make_runtime(HANG)
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(runtime.prompt, "one")
            await wait_for_turn(runtime)
            with pytest.raises(AgentBusy):
                await runtime.prompt("two")
            assert await runtime.interrupt()


async def test_an_interrupt_ends_the_turn_and_the_next_prompt_works(make_runtime: Make) -> None:
    runtime = await make_runtime(HANG, "again")
    results = []

    async def ask() -> None:
        results.append(await runtime.prompt("one"))

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            turn_id = await wait_for_turn(runtime)
            assert not await runtime.interrupt("turn-other")
            assert await runtime.interrupt(turn_id)
            assert runtime.active_turn is None
        assert results[0].outcome == "interrupted"
        assert (await runtime.prompt("two")).text == "again"
    assert not await runtime.interrupt()


async def test_cancelling_the_caller_ends_the_turn_as_cancelled(make_runtime: Make) -> None:
    runtime = await make_runtime(HANG, "after")
    ends = []
    runtime.subscribe(lambda e: ends.append(e) if e.type == "turn_end" else None)
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(runtime.prompt, "one")
            await wait_for_turn(runtime)
            await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()
        assert [end.outcome for end in ends] == ["cancelled"]
        assert runtime.active_turn is None
        assert (await runtime.prompt("two")).text == "after"


async def test_a_steer_for_a_turn_that_is_over_is_a_conflict(make_runtime: Make) -> None:
    runtime = await make_runtime("done")
    with anyio.fail_after(5):
        result = await runtime.prompt("one")
        assert (await runtime.steer(result.turn_id, "late")).status == "conflict"


async def test_usage_counts_calls_and_never_invents_tokens(make_runtime: Make) -> None:
    runtime = await make_runtime("a", "b")
    with anyio.fail_after(5):
        await runtime.prompt("one")
        await runtime.prompt("two")
    assert runtime.usage().model_calls == 2


async def test_resume_counts_what_is_stored_and_asks_nobody(make_runtime: Make) -> None:
    runtime = await make_runtime("a")
    with anyio.fail_after(5):
        assert await runtime.resume() == 0
        await runtime.prompt("one")
        assert await runtime.resume() > 0


async def test_a_closed_runtime_refuses_and_closes_twice(make_runtime: Make) -> None:
    runtime = await make_runtime("a")
    with anyio.fail_after(5):
        await runtime.aclose()
        await runtime.aclose()
        with pytest.raises(AgentClosed):
            await runtime.prompt("x")


async def test_closing_interrupts_what_runs(make_runtime: Make) -> None:
    runtime = await make_runtime(HANG)
    results = []

    async def ask() -> None:
        results.append(await runtime.prompt("one"))

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            await wait_for_turn(runtime)
            await runtime.aclose()
    assert results[0].outcome == "interrupted"


async def test_an_available_runtime_refuses_nothing(make_runtime: Make) -> None:
    runtime = await make_runtime("a")
    assert await runtime.check_availability() is None
    assert runtime.capabilities.interrupt


async def test_every_event_of_a_turn_carries_its_id_and_the_last_says_idle(
    make_runtime: Make,
) -> None:
    runtime = await make_runtime("a", HANG, "b")
    with anyio.fail_after(5):
        for turn_id in ("turn-1", "turn-2", "turn-3"):
            seen = []
            unsubscribe = runtime.subscribe(seen.append)
            async with anyio.create_task_group() as group:
                group.start_soon(lambda turn_id=turn_id: runtime.prompt("x", turn_id=turn_id))
                await wait_for_turn(runtime)
                if turn_id == "turn-2":
                    await anyio.lowlevel.checkpoint()
                    await runtime.interrupt()
            unsubscribe()
            assert {event.turn_id for event in seen} == {turn_id}
            assert (seen[-1].type, seen[-1].status) == ("status", "idle")
            assert [event.type for event in seen].count("turn_end") == 1


async def test_a_steer_is_put_into_the_turn_that_it_names(make_runtime: Make) -> None:
    runtime = await make_runtime(HANG)
    replies = []

    async def steer(turn_id: str) -> None:
        replies.append(await runtime.steer(turn_id, "also this"))

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(runtime.prompt, "one")
            turn_id = await wait_for_turn(runtime)
            await anyio.wait_all_tasks_blocked()
            group.start_soon(steer, turn_id)
            await anyio.wait_all_tasks_blocked()
            await runtime.interrupt()
    assert replies[0].status in ("injected", "conflict")
    assert replies[0].turn_id == turn_id


@pytest.mark.parametrize("text", ["", " \n", "half \ud800"])
async def test_text_that_nothing_can_carry_is_refused(make_runtime: Make, text: str) -> None:
    runtime = await make_runtime("a")
    with anyio.fail_after(5):
        with pytest.raises(UsageError):
            await runtime.prompt(text)
        with pytest.raises(UsageError):
            await runtime.steer("turn-1", text)
        assert (await runtime.prompt("good")).text == "a"
