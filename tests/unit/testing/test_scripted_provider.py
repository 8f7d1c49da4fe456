"""The shipped double: what is written down is what is said."""

from __future__ import annotations

import anyio
import pytest

from shard_jupyter.contracts.provider import (
    Answered,
    Failed,
    ProviderEvent,
    ProviderNotice,
    ProviderRequest,
    TextDelta,
)
from shard_jupyter.errors import Bug
from shard_jupyter.testing.scripted_provider import (
    ScriptedProvider,
    Step,
    call,
    calls,
    fail,
    hang,
    recovered_call,
    say,
    tell,
    think,
)
from shard_jupyter.types.messages import user_text
from shard_jupyter.types.usage import TokenUsage

pytestmark = pytest.mark.proves("A13")
REQUEST = ProviderRequest(model="m", system="", messages=(user_text("hi"),))


async def play(provider: ScriptedProvider) -> list[ProviderEvent]:
    with anyio.fail_after(5):
        return [event async for event in provider.stream(REQUEST)]


async def test_steps_are_played_in_order() -> None:
    provider = ScriptedProvider([say("one"), say("two", stop="length")])
    answers = [(await play(provider))[-1] for _ in range(2)]
    assert [(a.message.text, a.stop_reason) for a in answers] == [("one", "end"), ("two", "length")]  # type: ignore[union-attr]
    assert provider.requests == [REQUEST, REQUEST]
    assert provider.remaining == 0


async def test_one_step_may_be_played_twice_with_new_ids() -> None:
    step = calls(call("read", path="a.py"), call("read", name="x"))
    provider = ScriptedProvider([step, step])
    found = []
    for _ in range(2):
        last = (await play(provider))[-1]
        assert isinstance(last, Answered)
        assert last.stop_reason == "tool_calls"
        found += [(block.name, block.arguments) for block in last.message.tool_calls]
        found += [block.call_id for block in last.message.tool_calls]
    assert found[0] == found[4] == ("read", {"path": "a.py"})
    assert found[1] == ("read", {"name": "x"})
    assert len({found[2], found[3], found[6], found[7]}) == 4


async def test_parts_join_into_one_answer() -> None:
    tokens = TokenUsage(input_tokens=1)
    provider = ScriptedProvider([think("hm") + say("so", tokens=tokens) + call("read")])
    *_, last = await play(provider)
    assert isinstance(last, Answered)
    assert [block.kind for block in last.message.content] == ["thinking", "text", "tool_call"]
    assert last.tokens == tokens


async def test_failure_comes_after_what_was_said() -> None:
    *deltas, last = await play(
        ScriptedProvider([say("half") + fail("rate_limit", retry_after_seconds=3)])
    )
    assert deltas == [TextDelta(text="half")]
    assert isinstance(last, Failed)
    assert (last.failure.kind, last.failure.retryable, last.failure.retry_after_seconds) == (
        "rate_limit", True, 3,
    )  # fmt: skip


async def test_step_may_depend_on_the_request() -> None:
    def echo(request: ProviderRequest) -> Step:
        return say(request.messages[-1].text.upper())

    last = (await play(ScriptedProvider([echo])))[-1]
    assert isinstance(last, Answered)
    assert last.message.text == "HI"


async def test_end_of_the_script_is_a_bug() -> None:
    with pytest.raises(Bug, match=r"ended before request 1 \('hi'\)"):
        await play(ScriptedProvider([]))


async def test_hang_ends_only_by_cancellation() -> None:
    provider = ScriptedProvider([hang()])
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(play, provider)
            await provider.wait_until_hanging()
            tasks.cancel_scope.cancel()
    await provider.aclose()
    assert provider.closed


async def test_notices_come_first_and_a_recovered_call_is_marked() -> None:
    step = say("a") + recovered_call("read", path="a") + tell("loading", "Wait.")
    first, *_, last = await play(ScriptedProvider([step], asks_every_call=True))
    assert first == ProviderNotice(code="loading", message="Wait.")
    assert isinstance(last, Answered)
    assert [block.recovered for block in last.message.tool_calls] == [True]
    assert ScriptedProvider([], asks_every_call=True).route.asks_every_call
    assert not ScriptedProvider([]).route.asks_every_call
