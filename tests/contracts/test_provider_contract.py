"""What every provider promises, the shipped double and the replay included."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
import pytest

from shard_jupyter.capabilities.cassettes.cassette import CassetteWriter
from shard_jupyter.capabilities.cassettes.placeholders import Placeholders
from shard_jupyter.capabilities.cassettes.recording import RecordingProvider
from shard_jupyter.capabilities.cassettes.replay import ReplayFactory
from shard_jupyter.contracts.provider import (
    Answered,
    ArgumentsDelta,
    Failed,
    Provider,
    ProviderSettings,
    TextDelta,
    ThinkingDelta,
)
from shard_jupyter.testing.scripted_provider import ScriptedProvider, call, say, think
from tests.fakes.local_server import local_server
from tests.fakes.model_server import PATHS, MockModel, ask_once, converse, request_of
from tests.local_asking import LARGE, provider_on

pytestmark = pytest.mark.proves("A13", "E04")

IMPLEMENTATIONS = [*PATHS, "scripted", "recording", "replay", "local"]
PROMPT = 'go @@call write {"path": "a.txt"} @@times 2 @@par 2 @@quirk reasoning @@'
ROUND = think("Let me think about this. ") + say("Calling a tool. ")
CALL = call("write", path="a.txt")
SCRIPT = [ROUND + CALL + CALL, ROUND + CALL + CALL, think("So. ") + say("Done. Grüße, 世界 🙂")]


@pytest.fixture(params=IMPLEMENTATIONS)
async def provider(
    request: pytest.FixtureRequest, mock_model: MockModel, tmp_path: Path
) -> AsyncIterator[Provider]:
    if request.param == "local":  # asked by the server's tools; tests/providers/local has the rest
        port = urlsplit(mock_model.url).port
        async with local_server(forward_to=port) as server, provider_on(server, LARGE) as local:
            yield local
        return
    made = await make(request.param, mock_model, tmp_path)
    yield made
    await made.aclose()


async def make(kind: str, server: MockModel, folder: Path) -> Provider:
    if kind in PATHS:
        return await server.provider(kind)
    if kind == "scripted":
        return ScriptedProvider(SCRIPT)
    recording = RecordingProvider(
        await server.provider("chat"),
        CassetteWriter(folder / "demo.jsonl"),
        Placeholders({"cwd": str(folder)}),
    )
    if kind == "recording":
        return recording
    await converse(recording, PROMPT)
    await recording.aclose()
    settings = ProviderSettings(extra={"cwd": str(folder), "home": str(folder / "home")})
    create = ReplayFactory().create
    return await anyio.to_thread.run_sync(create, str(folder / "demo.jsonl"), settings)


async def test_the_last_event_alone_is_the_answer(provider: Provider) -> None:
    with anyio.fail_after(30):
        *deltas, last = await ask_once(provider, request_of(PROMPT))
    assert isinstance(last, Answered)
    assert deltas
    assert not [event for event in deltas if isinstance(event, (Answered, Failed))]


async def test_deltas_add_up_to_the_answer(provider: Provider) -> None:
    with anyio.fail_after(30):
        *deltas, last = await ask_once(provider, request_of(PROMPT))
    assert isinstance(last, Answered)
    text = "".join(event.text for event in deltas if isinstance(event, TextDelta))
    thinking = "".join(event.text for event in deltas if isinstance(event, ThinkingDelta))
    assert text == last.message.text != ""
    assert thinking == "".join(
        block.text for block in last.message.content if block.kind == "thinking"
    )


async def test_argument_deltas_name_the_calls_of_the_answer(provider: Provider) -> None:
    with anyio.fail_after(30):
        *deltas, last = await ask_once(provider, request_of(PROMPT))
    assert isinstance(last, Answered)
    named = {event.call_id: event.tool for event in deltas if isinstance(event, ArgumentsDelta)}
    assert named == {block.call_id: block.name for block in last.message.tool_calls}
    assert len(named) == 2


async def test_calls_of_a_conversation_have_unique_ids_of_ours(provider: Provider) -> None:
    with anyio.fail_after(30):
        talk = await converse(provider, PROMPT)
    ids = [run.call_id for run in talk.runs]
    assert len(set(ids)) == len(ids) == 4
    assert all(call_id.startswith("call-") and len(call_id) == 31 for call_id in ids)
    assert [answer.stop_reason for answer in talk.answers] == ["tool_calls", "tool_calls", "end"]


async def test_thinking_names_the_route_that_wrote_it(provider: Provider) -> None:
    with anyio.fail_after(30):
        *_, last = await ask_once(provider, request_of(PROMPT))
    assert isinstance(last, Answered)
    blocks = [block for block in last.message.content if block.kind == "thinking"]
    assert [block.route for block in blocks] == [provider.route.model_id]  # type: ignore[union-attr]


async def test_closing_early_leaves_the_provider_usable(provider: Provider) -> None:
    with anyio.fail_after(30):
        async with aclosing(provider.stream(request_of(PROMPT))) as events:
            assert (await anext(events)).kind == "thinking"
        answered = Answered if "replay" not in provider.route.model_id else Failed
        other = await ask_once(provider, request_of("hello"))
    assert isinstance(other[-1], answered)


async def test_cancelling_ends_the_call(provider: Provider) -> None:
    began = anyio.Event()
    pace = "" if provider.route.model_id.startswith("replay:") else " @@delay 50"

    async def ask() -> None:
        async with aclosing(provider.stream(request_of(PROMPT + pace))) as events:
            async for _ in events:
                began.set()

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await began.wait()
            tasks.cancel_scope.cancel()


async def test_route_tells_no_cloud_for_this_machine(provider: Provider) -> None:
    assert not provider.route.cloud
    assert provider.route.refusal is None


async def test_closing_twice_is_no_error(provider: Provider) -> None:
    await provider.aclose()
    await provider.aclose()
