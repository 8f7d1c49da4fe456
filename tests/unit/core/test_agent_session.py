"""The agent session between turns, and what it refuses during one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from shard_jupyter.core.limits.budget import Budget
from shard_jupyter.core.limits.pricing import Price
from shard_jupyter.errors import AgentBusy, AgentClosed, UnknownMode, UsageError
from shard_jupyter.testing.scripted_provider import ScriptedProvider, call, calls, hang, say
from shard_jupyter.types.events import AgentEvent
from shard_jupyter.types.tool_results import ToolResult, text_result
from shard_jupyter.types.usage import TokenUsage, UsageRecord
from tests.agent_rig import open_agent
from tests.faulty_tool import FaultyTool
from tests.turn_checks import check_order

pytestmark = pytest.mark.proves("A03", "A11")
PRICE = Price(input_usd_per_million=1.0, output_usd_per_million=1.0)


@pytest.mark.parametrize("turn_id", ["a b", "x" * 65, "é", "a\n", "../x"])
async def test_a_turn_id_that_is_none_is_refused(tmp_path: Path, turn_id: str) -> None:
    with anyio.fail_after(5):
        async with open_agent(tmp_path, say("ok")) as rig:
            with pytest.raises(UsageError):
                await rig.session.prompt("x", turn_id=turn_id)
            assert rig.events == []
            assert (await rig.session.prompt("x", turn_id="turn-1")).turn_id == "turn-1"


async def test_while_a_turn_runs_nothing_takes_its_conversation_away(tmp_path: Path) -> None:
    with anyio.fail_after(5):
        async with open_agent(tmp_path, say("half") + hang()) as rig:
            async with anyio.create_task_group() as group:
                group.start_soon(rig.session.prompt, "go")
                await rig.provider.wait_until_hanging()
                with pytest.raises(AgentBusy):
                    await rig.session.resume()
                with pytest.raises(AgentBusy):
                    await rig.session.switch_model(ScriptedProvider([]), None)
                await rig.session.interrupt()
            check_order(rig)
            assert await rig.session.resume() == 1


async def test_another_model_answers_the_next_prompt_and_the_old_one_is_closed(
    tmp_path: Path,
) -> None:
    with anyio.fail_after(5):
        async with open_agent(tmp_path, say("one")) as rig:
            await rig.session.prompt("a")
            other = ScriptedProvider([say("two")])
            await rig.session.switch_model(other, None)
            assert rig.provider.closed
            assert (await rig.session.prompt("b")).text == "two"
            checkpoints = rig.entries("checkpoint")
        assert other.closed
        with pytest.raises(AgentClosed):
            await rig.session.switch_model(other, None)
    assert [event.type for event in rig.seen("model_switched")] == ["model_switched"]
    assert checkpoints[0]["artifact_kind"] == "model"


async def test_with_a_budget_in_money_a_model_needs_a_price(tmp_path: Path) -> None:
    """Without one nothing would ever be counted, and the budget would hold nobody."""
    budget = Budget(usd=1.0)
    with anyio.fail_after(5):
        async with open_agent(tmp_path, say("one"), budget=budget) as rig:
            for price in (None, Price(input_usd_per_million=1.0)):
                with pytest.raises(UsageError, match="has no price"):
                    await rig.session.switch_model(ScriptedProvider([]), price)
            await rig.session.switch_model(ScriptedProvider([say("two")]), PRICE)
            assert (await rig.session.prompt("b")).text == "two"


async def test_a_mode_is_changed_once_and_only_to_one_there_is(tmp_path: Path) -> None:
    with anyio.fail_after(5):
        async with open_agent(tmp_path) as rig:
            with pytest.raises(UnknownMode):
                rig.session.set_mode("nothing")
            rig.session.set_mode("plan")
            rig.session.set_mode("plan")
        with pytest.raises(AgentClosed):
            rig.session.set_mode("build")
    assert [event.new_mode for event in rig.seen("mode_changed")] == ["plan"]


async def test_two_hundred_rounds_leave_a_record_each_and_nothing_else(tmp_path: Path) -> None:
    step = say("", tokens=TokenUsage(input_tokens=3, output_tokens=2))
    step += calls(call("odd"), call("odd"))
    records: list[UsageRecord] = []
    turns: list[Any] = []

    async def keep(turn_records: tuple[UsageRecord, ...]) -> None:
        records.extend(turn_records)

    def report(context: Any) -> ToolResult:
        context.report("x" * 5000)
        return text_result("ran")

    tool = FaultyTool(is_read_only=False, kind="write", on_execute=report)
    with anyio.fail_after(50):
        async with open_agent(
            tmp_path, *[step] * 200, tools=[tool], ask="inline", keep_usage=keep, max_rounds=200
        ) as rig:

            def watch(event: AgentEvent) -> None:
                if event.type == "turn_start":
                    turns.append(rig.session._turn)
                elif event.type == "permission_request":
                    rig.session.answer_permission(event.request_id, "allow", by="person")

            rig.session.subscribe(watch)
            result = await rig.session.prompt("go")
            check_order(rig)
    assert (result.outcome, result.error.code) == ("limit_reached", "max_rounds")
    assert len(records) == result.usage.model_calls == result.rounds == 200
    assert result.usage.input_tokens == 600
    assert len(tool.ran) == 2 * 199
    assert turns[0].partial_output == {}
    assert len(turns[0].state.story) <= 20
