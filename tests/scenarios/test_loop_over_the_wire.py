"""The turn loop with the real providers over real sockets: order, steering, interrupts, afterwards."""

from __future__ import annotations

import json
import random
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from shard_jupyter import Shard
from shard_jupyter.types.events import AgentEvent
from shard_jupyter.types.turns import TurnResult
from tests.child_watch import assert_no_new_child, children
from tests.fakes.model_server import MockModel
from tests.scenarios.command_line import MODELS, read_entries

pytestmark = [pytest.mark.proves("A03", "A13", "B11"), pytest.mark.parametrize("model", MODELS)]
OpenAgent = Callable[..., AbstractAsyncContextManager[Shard]]
HARMLESS = (
    "split_utf8", "crlf", "comments", "nospace", "no_done", "empty_choices", "usage_last",
    "no_tool_id", "no_tool_index", "args_object", "args_once", "finish_stop", "finish_early",
    "null_content", "reasoning", "same_id", "const_id", "wrong_index", "args_double", "text_type",
)  # fmt: skip
AGAIN = "again @@shell echo y>>AGAIN @@text 40 @@"


@pytest.fixture
def open_agent(mock_model: MockModel, tmp_path: Path, model: str) -> OpenAgent:
    environ = {
        "HOME": str(tmp_path / "home"),
        "SHARD_SANDBOX": "off",
        "OPENAI_BASE_URL": f"{mock_model.url}/v1",
        "ANTHROPIC_BASE_URL": mock_model.url,
    }

    @asynccontextmanager
    async def open_it(**options: Any) -> AsyncIterator[Shard]:
        given = {"ask": "yes", "cwd": tmp_path, "model": model, "environ": environ, **options}
        with anyio.fail_after(30):
            async with Shard(**given) as agent:
                yield agent

    return open_it


def entries_of(agent: Shard, kind: str) -> list[dict[str, Any]]:
    log = agent.session.parts.scratch.parent / "session.jsonl"
    return [entry for entry in read_entries(log) if entry["type"] == kind]


class FirstOf:
    """Waits for the first event that is of the kind."""

    def __init__(self, agent: Shard, kind: str) -> None:
        self._kind = kind
        self._seen = anyio.Event()
        agent.subscribe(self._look)

    def _look(self, event: AgentEvent) -> None:
        if event.type == self._kind:
            self._seen.set()

    async def wait(self) -> None:
        await self._seen.wait()


async def interrupt_when(
    agent: Shard, prompt: str, ready: Callable[[], Any], finished: list[TurnResult]
) -> None:
    """Prompt, and interrupt as soon as `ready`; the interrupt may take two seconds."""

    async def ask() -> None:
        finished.append(await agent.prompt(prompt, check=False))

    async with anyio.create_task_group() as group:
        group.start_soon(ask)
        await ready()
        with anyio.fail_after(2):
            assert await agent.interrupt()


@pytest.mark.proves("H4d.38", "H2d.same_id")
@pytest.mark.parametrize("quirk", ["same_id", "const_id"])
async def test_parallel_calls_with_reused_ids_run_each_once_in_order_with_their_own_result(
    quirk: str, open_agent: OpenAgent, mock_model: MockModel, tmp_path: Path
) -> None:
    command = "echo $(cat MARK 2>/dev/null | wc -l)>>MARK; tail -1 MARK"
    prompt = f"go @@shell {command} @@times 3 @@par 3 @@quirk {quirk} @@"
    async with open_agent() as agent:
        result = await agent.prompt(prompt)
        calls = entries_of(agent, "tool_result")
    assert (result.outcome, result.rounds) == ("completed", 4)
    assert (tmp_path / "MARK").read_bytes() == b"".join(b"%d\n" % n for n in range(9))
    assert [entry["content"][0]["text"] for entry in calls] == [str(n) for n in range(9)]
    assert len({entry["call_id"] for entry in calls}) == 9
    sent = json.dumps((await mock_model.get("/__bodies"))[-1])
    places = [sent.index(f'"{n}"') for n in range(9)]
    assert places == sorted(places), "the model sees the results in the order of its calls"


async def test_a_steer_during_a_tool_run_reaches_the_next_request(
    open_agent: OpenAgent, mock_model: MockModel, tmp_path: Path
) -> None:
    prompt = "go @@shell echo on; until [ -e GO ]; do sleep 0.05; done @@"
    replies = []
    async with open_agent() as agent:
        on = FirstOf(agent, "tool_progress")

        async def steer() -> None:
            await on.wait()
            async with anyio.create_task_group() as group:

                async def send() -> None:
                    replies.append(await agent.steer("also the tests"))

                group.start_soon(send)
                await anyio.Path(tmp_path / "GO").touch()

        async with anyio.create_task_group() as group:
            group.start_soon(steer)
            result = await agent.prompt(prompt)
        bodies = await mock_model.get("/__bodies")
    assert (result.outcome, [reply.status for reply in replies]) == ("completed", ["injected"])
    assert "also the tests" not in json.dumps(bodies[0])
    assert "also the tests" in json.dumps(bodies[1])


@pytest.mark.parametrize("quirk", ["hang", "hang_start"])
async def test_an_interrupt_of_a_silent_stream_drops_it_at_once_and_the_next_prompt_works(
    quirk: str, open_agent: OpenAgent, mock_model: MockModel, tmp_path: Path
) -> None:
    finished: list[TurnResult] = []
    async with open_agent() as agent:
        await interrupt_when(
            agent,
            f"go @@shell echo x>>MARK @@text 400 @@quirk {quirk} @@",
            lambda: mock_model.get("/__hung"),
            finished,
        )
        await mock_model.get("/__dropped")
        result = await agent.prompt(AGAIN)
    assert [ended.outcome for ended in finished] == ["interrupted"]
    assert result.outcome == "completed"
    assert not (tmp_path / "MARK").exists(), "no call of an answer that was not complete runs"
    assert (tmp_path / "AGAIN").read_bytes() == b"y\n"


ESCAPES = [
    "{0}",
    "{0} & wait",
    "setsid {0} & {0}",
    "trap '' TERM INT; {0}",
    "nohup setsid bash -c 'trap \"\" TERM; {0}' >/dev/null 2>&1 & {0}",
]


@pytest.mark.proves("H4f.57", "H4f.61")
@pytest.mark.parametrize("command", ESCAPES)
async def test_an_interrupt_of_a_command_leaves_no_descendant_and_the_next_prompt_works(
    command: str, open_agent: OpenAgent, mock_model: MockModel, tmp_path: Path
) -> None:
    sleeper = f"sleep {60 + random.random()}"
    prompt = f"go @@shell echo on; {command.format(sleeper)} @@par 2 @@"
    finished: list[TurnResult] = []
    async with open_agent() as agent:
        before = children()
        await interrupt_when(agent, prompt, FirstOf(agent, "tool_progress").wait, finished)
        assert_no_new_child(before)
        assert not is_running(sleeper)
        closed = entries_of(agent, "tool_result")
        result = await agent.prompt(AGAIN)
        bodies = await mock_model.get("/__bodies")
    assert [ended.outcome for ended in finished] == ["interrupted"]
    assert [entry["status"] for entry in closed] == ["interrupted", "interrupted"]
    assert result.outcome == "completed"
    assert (tmp_path / "AGAIN").read_bytes() == b"y\n"
    # Both calls of the stopped message have a result, or the server would refuse the request.
    assert json.dumps(bodies[1]).count("interrupted") >= 2


def is_running(command: str) -> bool:
    found = (process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"]))
    return any(" ".join(argv) == command for argv in found)


async def test_an_interrupt_while_a_retry_is_waited_for_asks_no_more(
    open_agent: OpenAgent, mock_model: MockModel
) -> None:
    finished: list[TurnResult] = []
    async with open_agent() as agent:
        await interrupt_when(
            agent,
            "go @@quirk status429 @@wait 30 @@tries 99 @@",
            FirstOf(agent, "retry_scheduled").wait,
            finished,
        )
        result = await agent.prompt(AGAIN)
        asked = await mock_model.get("/__bodies")
    assert [ended.outcome for ended in finished] == ["interrupted"]
    assert (result.outcome, len(asked)) == ("completed", 3)


async def test_a_caller_that_is_cancelled_leaves_an_agent_that_can_go_on(
    open_agent: OpenAgent, mock_model: MockModel, tmp_path: Path
) -> None:
    async with open_agent() as agent:
        before = children()
        on = FirstOf(agent, "tool_progress")
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: agent.prompt("go @@shell echo on; sleep 66.5 @@"))
            await on.wait()
            group.cancel_scope.cancel()
        assert_no_new_child(before)
        ends = [entry["outcome"] for entry in entries_of(agent, "turn_end")]
        result = await agent.prompt(AGAIN)
    assert (ends, result.outcome) == (["cancelled"], "completed")


@pytest.mark.proves("A11")
async def test_a_session_that_was_stopped_goes_on_with_another_protocol(
    open_agent: OpenAgent, mock_model: MockModel, model: str
) -> None:
    """Ids, reasoning and open calls of one vendor are no trouble for the next."""
    finished: list[TurnResult] = []
    prompt = "go @@shell echo on; sleep 67.5 @@par 2 @@quirk reasoning @@quirk const_id @@"
    async with open_agent() as agent:
        await interrupt_when(agent, prompt, FirstOf(agent, "tool_progress").wait, finished)
        session = agent.session_id
    for other in MODELS:
        if other != model:
            async with open_agent(model=other, session=session) as agent:
                assert (await agent.prompt(f"{other} {AGAIN}")).outcome == "completed"


async def test_many_rounds_ask_once_each_and_end(
    open_agent: OpenAgent, mock_model: MockModel, tmp_path: Path
) -> None:
    async with open_agent() as agent:
        result = await agent.prompt("go @@shell echo x>>MARK @@times 25 @@quirk split_utf8 @@")
        asked = await mock_model.get("/__bodies")
    assert (result.rounds, len(asked), result.usage.model_calls) == (26, 26, 26)
    assert (tmp_path / "MARK").read_bytes() == b"x\n" * 25


@pytest.mark.proves("H4d.35", "H4d.36", "H4d.37", "H4d.38")
@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    quirks=st.sets(st.sampled_from(HARMLESS), min_size=2, max_size=5),
    times=st.integers(1, 3),
    parallel=st.integers(1, 3),
    chunk=st.integers(1, 60),
)
@example(quirks={"args_double", "const_id"}, times=2, parallel=2, chunk=8)
@example(quirks={"args_once", "no_tool_id", "no_tool_index"}, times=1, parallel=3, chunk=8)
async def test_quirks_together_change_nothing_of_what_runs(
    quirks: set[str],
    times: int,
    parallel: int,
    chunk: int,
    open_agent: OpenAgent,
    tmp_path: Path,
) -> None:
    named = "".join(f"@@quirk {quirk} " for quirk in sorted(quirks))
    how = f"@@times {times} @@par {parallel} @@chunk {chunk}"
    mark = tmp_path / "MARK"
    mark.unlink(missing_ok=True)
    async with open_agent() as agent:
        result = await agent.prompt(f"go @@shell echo x>>MARK {how} {named}@@")
    assert (result.outcome, result.rounds) == ("completed", times + 1)
    assert mark.read_bytes() == b"x\n" * times * parallel
    assert result.text.startswith("Done. Grüße")
