"""Tools, providers, subscribers and extensions come from anywhere; none of them breaks a turn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from shard_jupyter.contracts.mode import Mode
from shard_jupyter.contracts.provider import Answered, ProviderEvent, ProviderRequest, TextDelta
from shard_jupyter.errors import Bug, StorageError, ToolFailed, ToolInputError
from shard_jupyter.testing.scripted_provider import call, calls, say
from shard_jupyter.types.content import ImageBlock, TextBlock, ToolCallBlock
from shard_jupyter.types.messages import Message
from shard_jupyter.types.render_descriptors import ProgressDescriptor, TextDescriptor
from shard_jupyter.types.tool_results import ToolResult, text_result
from shard_jupyter.types.usage import TokenUsage
from tests.agent_rig import AgentRig, open_agent
from tests.faulty_tool import FaultyTool
from tests.turn_checks import check_order, check_wire

pytestmark = pytest.mark.proves("A03", "A04", "A16")


def raiser(error: BaseException | type[BaseException]) -> Callable[..., Any]:
    def raise_it(*_: object) -> Any:
        raise error

    return raise_it


ERRORS = {
    "value": ValueError("no good"),
    "visible": ToolFailed("not today"),
    "input": ToolInputError("what is that?"),
    "group": ExceptionGroup("two", [ValueError("a"), KeyError("b")]),
    "group of one": ExceptionGroup("one", [ExceptionGroup("in one", [ToolFailed("deep down")])]),
    "cancelled itself": asyncio.CancelledError("an inner task"),
    "recursion": RecursionError(),
    "half character": OSError("caf\udce9 is no name"),
    "generator": StopAsyncIteration(),
}
PLACES = ("on_parse", "on_reach", "on_preview", "on_execute")


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("error", ERRORS)
async def test_whatever_a_tool_raises_becomes_a_result(
    tmp_path: Path, place: str, error: str
) -> None:
    tool = FaultyTool(**{place: raiser(ERRORS[error])})
    with anyio.fail_after(10):
        async with open_agent(tmp_path, call("odd"), say("ok"), tools=[tool]) as rig:
            assert (await rig.session.prompt("go")).text == "ok"
            check_order(rig)
            check_wire(rig)
            [(status, text)] = rig.results()
    assert status == ("ok" if place == "on_preview" else "error")
    faults = [notice.message for notice in rig.seen("notice")]
    assert len(faults) == (0 if error in ("visible", "input", "group of one") else 1)
    if error == "group of one" and place != "on_preview":
        assert text == "deep down"


@pytest.mark.parametrize("error", [Bug("ours"), StorageError("disk"), SystemExit(3)])
@pytest.mark.parametrize("place", PLACES)
async def test_what_is_no_fault_of_the_tool_ends_the_turn_in_order_and_is_raised(
    tmp_path: Path, place: str, error: BaseException
) -> None:
    wrapped = error if isinstance(error, SystemExit) else ExceptionGroup("group", [error])
    tool = FaultyTool(is_read_only=False, kind="write", **{place: raiser(wrapped)})
    seen: list[BaseException] = []

    async def prompt(rig: AgentRig) -> None:
        try:
            await rig.session.prompt("go")
        except BaseException as raised:  # noqa: BLE001 - whatever it is
            seen.append(raised)

    script = calls(call("odd"), call("odd")), say("never")
    with anyio.fail_after(10):
        async with open_agent(tmp_path, *script, tools=[tool]) as rig:
            await prompt(rig)
            check_order(rig)
            check_wire(rig)
            statuses = [status for status, _ in rig.results()]
            end = rig.seen("turn_end")[0]
            rig.provider.script(say("and on"))
            assert (await rig.session.prompt("again")).text == "and on"
    assert seen == [error]
    assert end.outcome == "failed"
    # Only of a call that was begun nobody knows what it did.
    first = "uncertain" if place == "on_execute" else "interrupted"
    assert statuses == [first, "interrupted"]


BAD_RESULTS = {
    "nothing": None,
    "text": "done",
    "no JSON in details": text_result("done", value=object()),
    "no number in details": text_result("done", value=float("nan")),
    "huge number in details": text_result("done", value=2**60),
    "deep details": text_result("done", value=eval("[" * 90 + "]" * 90)),
    "half character": text_result("caf\udce9"),
    "half character in a view": text_result("done", TextDescriptor(text="\ud800")),
    "endless progress": text_result("done", ProgressDescriptor(label="x", current=float("inf"))),
    "changed paths that are none": text_result("done", changed_paths=3),
    "changed paths as text": text_result("done", changed_paths="abc"),
    "too large": text_result("x" * (17 << 20)),
    "image": ToolResult(content=(ImageBlock(media_type="a", sha256="b", size_bytes=2**60),)),
}


@pytest.mark.parametrize("name", BAD_RESULTS)
async def test_whatever_a_tool_returns_can_be_stored_sent_and_answered(
    tmp_path: Path, name: str
) -> None:
    tool = FaultyTool(on_execute=lambda context: BAD_RESULTS[name])
    with anyio.fail_after(20):
        async with open_agent(tmp_path, call("odd"), say("ok"), tools=[tool]) as rig:
            assert (await rig.session.prompt("go")).text == "ok"
            check_order(rig)
            check_wire(rig)
            [(_, text)] = rig.results()
            rig.provider.requests[1].model_dump_json()
    assert text
    assert rig.seen("files_changed") == []


async def test_whatever_a_tool_reports_while_it_runs_can_be_sent(tmp_path: Path) -> None:
    def report(context: Any) -> ToolResult:
        context.report("half \udce9")
        return text_result("ok")

    with anyio.fail_after(10):
        tools = [FaultyTool(on_execute=report)]
        async with open_agent(tmp_path, call("odd"), say("ok"), tools=tools) as rig:
            await rig.session.prompt("go")
            check_wire(rig)


async def test_only_the_end_of_a_long_output_is_kept_and_only_while_the_call_runs(
    tmp_path: Path,
) -> None:
    kept: list[int] = []

    def report(context: Any) -> ToolResult:
        for _ in range(3000):
            context.report("x" * 7)
        kept.append(sum(map(len, rig.session._turn.partial_output.values())))
        return text_result("ok")

    with anyio.fail_after(10):
        tools = [FaultyTool(on_execute=report)]
        async with open_agent(tmp_path, call("odd"), call("odd"), say("ok"), tools=tools) as rig:
            await rig.session.prompt("go")
    assert kept == [4000, 4000]


BAD_ANSWERS = {
    "half character": Message(role="assistant", content=(TextBlock(text="\ud800"),)),
    "half character in arguments": Message(
        role="assistant",
        content=(ToolCallBlock(call_id="c", name="odd", arguments={"a": "\ud800"}),),
    ),
    "no number": Message(
        role="assistant",
        content=(ToolCallBlock(call_id="c", name="odd", arguments={"a": float("nan")}),),
    ),
    "huge number": Message(
        role="assistant", content=(ToolCallBlock(call_id="c", name="odd", arguments={"a": 2**70}),)
    ),
}


@pytest.mark.parametrize("name", BAD_ANSWERS)
async def test_whatever_a_model_answers_can_be_stored_and_sent(tmp_path: Path, name: str) -> None:
    answered = Answered(message=BAD_ANSWERS[name], stop_reason="end", tokens=TokenUsage())
    tool = FaultyTool()
    with anyio.fail_after(10):
        async with open_agent(tmp_path, say("ok"), tools=[tool]) as rig:
            play(rig, lambda: (TextDelta(text="\ud83d"), answered))
            await rig.session.prompt("go")
            check_order(rig)
            check_wire(rig)
            for request in rig.provider.requests:
                request.model_dump_json()
    if "number" in name:
        assert tool.ran == []
        assert rig.results()[0][0] == "error"


def play(rig: AgentRig, first: Callable[[], Any]) -> None:
    """Let the provider do something that it must not, at its first request."""
    usual = rig.provider.stream

    async def stream(request: ProviderRequest) -> AsyncGenerator[ProviderEvent, None]:
        if not rig.provider.requests:
            rig.provider.requests.append(request)
            for event in first():
                yield event
            return
        async for event in usual(request):
            yield event

    rig.provider.stream = stream  # type: ignore[method-assign]


@pytest.mark.parametrize(
    "error", [ValueError("sk-secret"), asyncio.CancelledError(), ExceptionGroup("g", [OSError()])]
)
async def test_a_provider_that_raises_fails_the_turn_and_says_nothing_of_it_aloud(
    tmp_path: Path, error: BaseException
) -> None:
    with anyio.fail_after(10):
        async with open_agent(tmp_path, say("ok")) as rig:
            play(rig, raiser(error))
            result = await rig.session.prompt("go")
            check_order(rig)
            check_wire(rig)
            assert (await rig.session.prompt("again")).text == "ok"
    assert (result.outcome, result.error.code) == ("failed", "provider_fault")
    assert "sk-secret" not in str(rig.events) + str(rig.log())
    assert rig.seen("usage")[0].totals.unknown_calls == 1


@pytest.mark.parametrize("error", [Bug("ours"), StorageError("no cassette"), KeyboardInterrupt()])
async def test_an_error_of_ours_in_a_model_call_ends_the_turn_in_order_and_is_raised(
    tmp_path: Path, error: BaseException
) -> None:
    seen: list[BaseException] = []
    with anyio.fail_after(10):
        async with open_agent(tmp_path, say("ok")) as rig:
            play(rig, lambda: iter_and_raise(error))
            try:
                await rig.session.prompt("go")
            except BaseException as raised:  # noqa: BLE001 - whatever it is
                seen.append(raised)
            check_order(rig)
            check_wire(rig)
    assert seen == [error]


def iter_and_raise(error: BaseException) -> Any:
    yield TextDelta(text="half an ans")
    raise error


@pytest.mark.parametrize("kind", ["turn_start", "message_delta", "tool_call", "turn_end", "status"])
async def test_a_subscriber_that_raises_breaks_nothing_and_is_reported(
    tmp_path: Path, kind: str
) -> None:
    reported: list[Any] = []
    loop = asyncio.get_running_loop()
    usual = loop.get_exception_handler()
    loop.set_exception_handler(lambda _, context: reported.append(context["exception"]))
    after: list[str] = []

    def break_down(event: Any) -> None:
        if event.type == kind:
            raise LookupError(kind)

    try:
        with anyio.fail_after(10):
            async with open_agent(tmp_path, call("ls", path="."), say("ok")) as rig:
                rig.session.subscribe(break_down)
                rig.session.subscribe(lambda event: after.append(event.type))
                assert (await rig.session.prompt("go")).text == "ok"
                check_order(rig)
    finally:
        loop.set_exception_handler(usual)
    assert after == [event.type for event in rig.events]
    assert {type(error) for error in reported} == {LookupError}
    assert len(reported) == after.count(kind)


async def test_an_extractor_that_raises_is_told_and_the_turn_completes(tmp_path: Path) -> None:
    with anyio.fail_after(10):
        async with open_agent(tmp_path, say("ok"), mode="plan") as rig:
            rig.session.parts.extractors = {"plan": raiser(ValueError("no"))}
            assert (await rig.session.prompt("go")).outcome == "completed"
    assert "extension_fault" in [notice.code for notice in rig.seen("notice")]


async def test_a_compactor_that_raises_is_told_and_the_next_turn_works(tmp_path: Path) -> None:
    class Broken:
        name = "broken"
        should_compact = staticmethod(lambda used, window: True)
        compact = staticmethod(raiser(IndexError("no")))

    counted = say("ok", tokens=TokenUsage(input_tokens=10, output_tokens=1))
    with anyio.fail_after(10):
        async with open_agent(tmp_path, counted, counted) as rig:
            rig.session.parts.compactor = Broken()
            rig.provider._route = rig.provider.route.model_copy(update={"context_window": 10})
            await rig.session.prompt("go")
            await rig.session.prompt("again")
            check_order(rig)
    assert {notice.code for notice in rig.seen("notice")} == {"extension_fault"}


@pytest.mark.parametrize("path", ["~/x", "/dev/null", "", "http://x/y", "a\0b", "x" * 5000])
@pytest.mark.parametrize("tool", ["read", "write"])
@pytest.mark.parametrize("ask", ["yes", "rules", "deny", "inline"])
async def test_a_path_that_is_none_is_told_to_the_model(
    tmp_path: Path, path: str, tool: str, ask: str
) -> None:
    arguments = {"path": path} | ({"content": "x"} if tool == "write" else {})
    with anyio.fail_after(10):
        async with open_agent(tmp_path, call(tool, **arguments), say("ok"), ask=ask) as rig:
            assert (await rig.session.prompt("go")).outcome == "completed"
            check_order(rig)
            assert [status for status, _ in rig.results()] == ["error"]


async def test_a_mode_with_its_own_toolset_runs_nothing_else(tmp_path: Path) -> None:
    tool = FaultyTool()
    with anyio.fail_after(10):
        async with open_agent(tmp_path, call("odd"), say("ok"), tools=[tool]) as rig:
            rig.session.parts.modes.modes["look"] = Mode(
                name="look", description="", tools=("read",)
            )
            rig.session.set_mode("look")
            await rig.session.prompt("go")
            assert [status for status, _ in rig.results()] == ["denied"]
    assert tool.ran == []


async def test_a_mode_whose_extractor_nobody_brings_is_told(tmp_path: Path) -> None:
    with anyio.fail_after(10):
        async with open_agent(tmp_path, say("ok")) as rig:
            build = rig.session.parts.modes.modes["build"]
            rig.session.parts.modes.modes["odd"] = build.model_copy(
                update={"name": "odd", "turn_end_extractor": "todo"}
            )
            rig.session.set_mode("odd")
            assert (await rig.session.prompt("go")).outcome == "completed"
    assert [notice.code for notice in rig.seen("notice")] == ["no_extractor"]


async def test_calls_of_one_answer_with_one_id_each_get_their_own_result(tmp_path: Path) -> None:
    twins = tuple(
        ToolCallBlock(call_id="call-twin", name="odd", arguments={"n": n}) for n in range(3)
    )
    answered = Answered(
        message=Message(role="assistant", content=twins),
        stop_reason="tool_calls",
        tokens=TokenUsage(),
    )
    tool = FaultyTool()
    with anyio.fail_after(10):
        async with open_agent(tmp_path, say("ok"), tools=[tool]) as rig:
            play(rig, lambda: (answered,))
            assert (await rig.session.prompt("go")).text == "ok"
            check_order(rig)
    assert [arguments["n"] for arguments in tool.ran] == [0, 1, 2]
