"""A turn is stopped at every point there is, in every way there is, and each time all is in order."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import psutil
import pytest

from shard_jupyter.errors import ShardError
from shard_jupyter.testing.scripted_provider import Step, call, calls, fail, hang, say
from shard_jupyter.types.content import ToolCallBlock
from shard_jupyter.types.events import AgentEvent, PermissionRequest
from shard_jupyter.types.usage import UsageRecord
from tests.agent_rig import AgentRig, open_agent
from tests.turn_checks import check_order, check_wire

pytestmark = pytest.mark.proves("A03", "A05", "A06")

UNREADABLE = Step(
    blocks=(ToolCallBlock(call_id="call-x", name="bash", arguments_error="Invalid JSON"),)
)
SCRIPT = (
    fail("overloaded"),
    say("half an answer, then") + fail("cut"),
    say("Now the calls.")
    + calls(
        call("read", path="a.txt"),
        call("read", path="~/unusable"),
        call("bash", command="echo one; touch two"),
        UNREADABLE,
        call("write", path="new.txt", content="x\n"),
        call("write", path="same.txt", content="1\n"),
        call("write", path="same.txt", content="2\n"),
        call("nothing", a=1),
        call("write", path="denied.txt", content="x\n"),
    ),
    call("ls", path="."),
    say("Done."),
)


def answer_for_person(rig: AgentRig) -> Callable[[AgentEvent], None]:
    """Answer each question a moment later, as a person in another task would.

    The same file is asked for twice; the first question gets the answer for both.
    """
    same: list[PermissionRequest] = []

    def answer(event: AgentEvent) -> None:
        if not isinstance(event, PermissionRequest):
            return
        wanted = event.arguments.get("command") or event.arguments.get("path")
        decision: Any = "deny" if wanted == "denied.txt" else "allow"
        rule, question = None, event
        if wanted == "same.txt":
            same.append(event)
            if len(same) < 2:
                return
            decision, rule, question = "allow_always", event.offered_rules[0], same[0]
        asyncio.get_running_loop().call_soon(
            lambda: rig.session.answer_permission(
                question.request_id, decision, by="person", rule=rule
            )
        )

    return answer


async def run_until(
    rig: AgentRig, stop: Callable[[anyio.abc.TaskGroup, asyncio.Task[Any]], None], when: int
) -> object:
    """Prompt, stop after the event of that number, and return the result or what was raised."""
    outcome: list[object] = []

    async def prompt() -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.append(task)
        try:
            outcome.append(await rig.session.prompt("go"))
        except BaseException as error:
            outcome.append(error)
            raise

    tasks: list[asyncio.Task[Any]] = []
    count = 0

    def watch(_: AgentEvent) -> None:
        nonlocal count
        count += 1
        if count == when:
            stop(stopper, tasks[0])

    rig.session.subscribe(answer_for_person(rig))
    unsubscribe = rig.session.subscribe(watch)
    async with anyio.create_task_group() as stopper, anyio.create_task_group() as group:
        group.start_soon(prompt)
    unsubscribe()
    return outcome[0]


def interrupt(rig: AgentRig) -> Any:
    return lambda group, task: group.start_soon(rig.session.interrupt)


def interrupt_at_once(rig: AgentRig) -> Any:
    """In the middle of whatever emitted the event."""
    return lambda group, task: rig.session._turn.interrupt()


def cancel_task(rig: AgentRig) -> Any:
    return lambda group, task: task.cancel()


WAYS = {"interrupt": interrupt, "at once": interrupt_at_once, "task": cancel_task}


def commands_alive() -> list[psutil.Process]:
    children = psutil.Process().children(recursive=True)
    return [child for child in children if child.name() in ("bash", "sleep", "git")]


async def prepare(rig: AgentRig) -> int:
    await anyio.Path(rig.cwd / "a.txt").write_text("a\n", encoding="utf-8")
    return len(asyncio.all_tasks())


async def check_next_prompt(rig: AgentRig) -> None:
    rig.provider.script(say("The next one works."))
    rig.events.clear()
    assert (await rig.session.prompt("again")).text == "The next one works."
    assert {event.turn_id for event in rig.events} == {rig.seen("turn_start")[0].turn_id}


async def test_the_whole_turn_is_in_order_when_nobody_stops_it(tmp_path: Path) -> None:
    with anyio.fail_after(20):
        async with open_agent(tmp_path, *SCRIPT, ask="inline") as rig:
            await prepare(rig)
            result = await run_until(rig, lambda *_: None, 0)
            check_order(rig)
            check_wire(rig)
            assert result.outcome == "completed"
            statuses = [status for status, _ in rig.results()]
    assert statuses == ["ok", "error", "ok", "error", "ok", "ok", "ok", "error", "denied", "ok"]
    assert (rig.cwd / "new.txt").exists()
    assert not (rig.cwd / "denied.txt").exists()
    # The second change of it was granted by the answer to the first.
    paths = [event.arguments.get("path") for event in rig.seen("permission_request")]
    assert paths.count("same.txt") == 2
    assert "gate" in {event.by for event in rig.seen("permission_resolved")}


@pytest.mark.parametrize("way", WAYS)
async def test_a_turn_can_be_stopped_after_every_event(tmp_path: Path, way: str) -> None:
    stopped = 0
    with anyio.fail_after(55):
        for when in range(1, 200):
            async with open_agent(tmp_path / str(when), *SCRIPT, ask="inline") as rig:
                tasks = await prepare(rig)
                outcome = await run_until(rig, WAYS[way](rig), when)
                check_order(rig)
                check_outcome(way, outcome)
                if getattr(outcome, "outcome", "") == "completed" and len(rig.events) < when:
                    break
                stopped += 1
                await check_next_prompt(rig)
                assert len(asyncio.all_tasks()) == tasks
    assert stopped > 60
    assert commands_alive() == []


def check_outcome(way: str, outcome: object) -> None:
    if way == "task" and isinstance(outcome, BaseException):
        assert isinstance(outcome, asyncio.CancelledError)
    else:
        # An interrupt that comes with the very end finds a completed turn.
        assert outcome.outcome in ("interrupted", "completed")


@pytest.mark.parametrize("way", ["scope", "task"])
async def test_a_turn_can_be_stopped_at_any_turn_of_the_loop(tmp_path: Path, way: str) -> None:
    with anyio.fail_after(55):
        for ticks in (*range(30), *range(30, 200, 7), *range(200, 1200, 61)):
            async with open_agent(tmp_path / str(ticks), *SCRIPT, ask="inline") as rig:
                await prepare(rig)
                rig.session.subscribe(answer_for_person(rig))
                await cancel_after(ticks, way, lambda rig=rig: rig.session.prompt("go"))
                if rig.events:
                    check_order(rig)
                await check_next_prompt(rig)


async def cancel_after(ticks: int, way: str, prompt: Callable[[], Awaitable[object]]) -> None:
    scope, raised = anyio.CancelScope(), []

    async def run() -> None:
        with scope:
            try:
                await prompt()
            except BaseException as error:
                raised.append(error)
                raise

    task = asyncio.get_running_loop().create_task(run())
    for _ in range(ticks):
        await anyio.lowlevel.checkpoint()
    scope.cancel() if way == "scope" else task.cancel()
    await asyncio.wait([task])
    assert all(isinstance(error, asyncio.CancelledError) for error in raised)


async def test_a_prompt_within_a_timeout_of_asyncio_ends_in_order(tmp_path: Path) -> None:
    script = (call("bash", command="sleep 61"),)
    with anyio.fail_after(20):
        async with open_agent(tmp_path, *script) as rig:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.3):
                    await rig.session.prompt("go")
            check_order(rig)
            assert [status for status, _ in rig.results()] == ["interrupted"]
    assert commands_alive() == []


@pytest.mark.parametrize("way", WAYS)
async def test_half_an_answer_is_taken_back_and_its_cost_counts_as_unknown(
    tmp_path: Path, way: str
) -> None:
    with anyio.fail_after(10):
        async with open_agent(tmp_path, say("half") + hang()) as rig:
            await run_until(rig, WAYS[way](rig), 3)
            check_order(rig)
            await check_next_prompt(rig)
    assert rig.session.usage().model_calls == 2
    assert rig.session.usage().unknown_calls == 2


async def test_closing_waits_for_the_usage_of_the_last_turn(tmp_path: Path) -> None:
    order: list[str] = []
    writing, go_on = anyio.Event(), anyio.Event()

    async def keep_usage(records: tuple[UsageRecord, ...]) -> None:
        writing.set()
        await go_on.wait()
        order.append(f"{len(records)} kept")

    with anyio.fail_after(10):
        async with open_agent(tmp_path, say("ok"), keep_usage=keep_usage) as rig:

            async def close() -> None:
                await rig.session.aclose()
                order.append("closed")

            async with anyio.create_task_group() as group:
                group.start_soon(rig.session.prompt, "go")
                await writing.wait()
                assert rig.session.active_turn is None
                group.start_soon(close)
                await anyio.wait_all_tasks_blocked()
                go_on.set()
    assert order == ["1 kept", "closed"]


async def test_whoever_hears_that_the_agent_is_idle_may_prompt(tmp_path: Path) -> None:
    texts: list[str] = []

    with anyio.fail_after(10):
        async with open_agent(tmp_path, say("one"), say("two")) as rig:

            async def prompt(text: str) -> None:
                texts.append((await rig.session.prompt(text)).text)

            def prompt_again(event: AgentEvent) -> None:
                if event.type == "status" and event.status == "idle" and len(texts) == 0:
                    unsubscribe()
                    group.start_soon(prompt, "again")

            unsubscribe = rig.session.subscribe(prompt_again)
            async with anyio.create_task_group() as group:
                group.start_soon(prompt, "go")
    assert texts == ["one", "two"]


async def test_the_deadline_of_a_turn_is_no_interrupt(tmp_path: Path) -> None:
    with anyio.fail_after(20):
        async with open_agent(tmp_path, call("bash", command="sleep 61")) as rig:
            result = await rig.session.prompt("go", timeout_seconds=0.3)
            check_order(rig)
    assert (result.outcome, result.error.code) == ("limit_reached", "timeout")
    assert [event.limit for event in rig.seen("limit_reached")] == ["timeout"]


async def test_closing_stops_what_runs_even_while_the_closer_is_cancelled(tmp_path: Path) -> None:
    with anyio.fail_after(20):
        async with open_agent(tmp_path, call("bash", command="sleep 61")) as rig:
            results = []

            async def prompt() -> None:
                results.append(await rig.session.prompt("go"))

            async with anyio.create_task_group() as group:
                group.start_soon(prompt)
                while not rig.seen("tool_call"):
                    await anyio.lowlevel.checkpoint()
                with anyio.CancelScope() as closer:
                    closer.cancel()
                    await rig.session.aclose()
            assert results[0].outcome == "interrupted"
            assert rig.provider.closed
            with pytest.raises(ShardError, match="closed"):
                await rig.session.prompt("more")
        # The lock is free again.
        async with open_agent(tmp_path, say("on")) as rig:
            assert (await rig.session.prompt("go on")).text == "on"
