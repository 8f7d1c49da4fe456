"""Recorded from a real server, played without one."""

from __future__ import annotations

import json
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from shard_jupyter.capabilities.cassettes import register
from shard_jupyter.capabilities.cassettes.cassette import CassetteWriter
from shard_jupyter.capabilities.cassettes.placeholders import Placeholders, find_secrets
from shard_jupyter.capabilities.cassettes.recording import RecordingProvider
from shard_jupyter.capabilities.cassettes.replay import ReplayFactory
from shard_jupyter.contracts.provider import (
    Provider,
    ProviderFactory,
    ProviderSettings,
    TextDelta,
)
from shard_jupyter.errors import UserError
from shard_jupyter.testing.scripted_provider import (
    ScriptedProvider,
    call,
    calls,
    fail,
    hang,
    recovered_call,
    say,
)
from shard_jupyter.types.messages import Message
from tests.fakes.model_server import (
    PATHS,
    MockModel,
    answer_of,
    ask_once,
    converse,
    failure_of,
    request_of,
)

pytestmark = pytest.mark.proves("E04")
SECRET = "correct-horse-battery"
ENVIRONMENT = {"MY_API_KEY": SECRET}


def prompt_in(folder: Path) -> str:
    call = json.dumps({"path": f"{folder}/a.txt", "content": f"{SECRET} sk-abcdefghijklmnop1234"})
    return f"go @@call write {call} @@times 2 @@par 2 @@quirk reasoning @@"


def recorder(inner: Provider, path: Path, folder: Path) -> RecordingProvider:
    placeholders = Placeholders({"cwd": str(folder)}, find_secrets(ENVIRONMENT))
    return RecordingProvider(inner, CassetteWriter(path), placeholders)


async def player(path: Path, folder: Path) -> Provider:
    extra = {"cwd": str(folder), "home": "/nowhere", **ENVIRONMENT}
    settings = ProviderSettings(extra=extra)
    return await anyio.to_thread.run_sync(ReplayFactory().create, str(path), settings)


def comparable(messages: list[Message], folder: Path) -> str:
    """Messages without what may differ: ids, vendor's own data, secrets, the folder."""
    names: dict[str, str] = {}
    out = []
    for message in messages:
        blocks = []
        for block in message.content:
            plain = block.model_dump(mode="json")
            for field in ("vendor_id", "vendor_data", "signature", "route"):
                plain.pop(field, None)
            if call_id := plain.get("call_id"):
                plain["call_id"] = names.setdefault(call_id, f"id-{len(names)}")
            blocks.append(plain)
        out.append(blocks)
    text = json.dumps(out).replace(str(folder), "FOLDER")
    return text.replace(SECRET, "{secret}").replace("sk-abcdefghijklmnop1234", "{secret}")


@pytest.mark.parametrize("protocol", PATHS)
async def test_replay_in_another_folder_gives_the_same_conversation(
    protocol: str, mock_model: MockModel, tmp_path: Path
) -> None:
    here, there, file = tmp_path / "here", tmp_path / "there", tmp_path / "demo.jsonl"
    recording = recorder(await mock_model.provider(protocol), file, here)
    with anyio.fail_after(30):
        real = await converse(recording, prompt_in(here))
        await recording.aclose()
        mock_model.reset()
        replayed = await converse(await player(file, there), prompt_in(there))
        assert await mock_model.get("/__bodies") == []
    assert comparable(replayed.messages, there) == comparable(real.messages, here)
    assert [call.arguments["path"] for call in replayed.runs] == [f"{there}/a.txt"] * 4
    assert len({call.call_id for call in [*real.runs, *replayed.runs]}) == 8
    assert [answer.tokens for answer in replayed.answers] == [
        answer.tokens for answer in real.answers
    ]


@pytest.mark.parametrize("protocol", PATHS)
async def test_recording_again_gives_the_same_bytes(
    protocol: str, mock_model: MockModel, tmp_path: Path
) -> None:
    written = []
    for name in ("first", "second"):
        folder = tmp_path / name
        recording = recorder(
            await mock_model.provider(protocol), tmp_path / f"{name}.jsonl", folder
        )
        with anyio.fail_after(30):
            await converse(recording, prompt_in(folder))
            await recording.aclose()
        written.append((tmp_path / f"{name}.jsonl").read_bytes())
    assert written[0] == written[1]
    assert str(tmp_path).encode() not in written[0]


async def test_no_secret_is_in_the_file(mock_model: MockModel, tmp_path: Path) -> None:
    key = "sk-realkeyrealkeyrealkey"
    file = tmp_path / "demo.jsonl"
    recording = recorder(await mock_model.provider("chat", api_key=key), file, tmp_path)
    with anyio.fail_after(30):
        await converse(recording, prompt_in(tmp_path))
        failure = await failure_of(recording, request_of(f"say {key} @@status 401 @@"))
        await recording.aclose()
    assert failure.kind == "auth"
    data = file.read_text(encoding="utf-8")
    for secret in (SECRET, "sk-abcdefghijklmnop", key, "realkey"):
        assert secret not in data
    assert "{secret}" in data


async def test_replay_streams_in_pieces(mock_model: MockModel, tmp_path: Path) -> None:
    file = tmp_path / "demo.jsonl"
    recording = recorder(await mock_model.provider("chat"), file, tmp_path)
    with anyio.fail_after(30):
        await ask_once(recording, request_of("go @@text 300 @@"))
        await recording.aclose()
        events = await ask_once(await player(file, tmp_path), request_of("go @@text 300 @@"))
    pieces = [event.text for event in events if isinstance(event, TextDelta)]
    assert len(pieces) > 5
    assert "".join(pieces) == events[-1].message.text  # type: ignore[union-attr]


async def test_equal_requests_are_answered_in_recorded_order(tmp_path: Path) -> None:
    file = tmp_path / "demo.jsonl"
    recording = recorder(ScriptedProvider([say("one"), say("two")]), file, tmp_path)
    with anyio.fail_after(30):
        for _ in range(2):
            await answer_of(recording, request_of("same"))
        replay = await player(file, tmp_path)
        said = [(await answer_of(replay, request_of("same"))).message.text for _ in range(2)]
        failure = await failure_of(replay, request_of("same"))
    assert said == ["one", "two"]
    assert (failure.kind, failure.retryable) == ("mismatch", False)
    assert "was recorded 2 times and is asked once more" in failure.message


async def test_unknown_request_shows_what_differs(tmp_path: Path) -> None:
    file = tmp_path / "demo.jsonl"
    recording = recorder(ScriptedProvider([say("one")]), file, tmp_path)
    with anyio.fail_after(30):
        await answer_of(recording, request_of("list the files"))
        failure = await failure_of(await player(file, tmp_path), request_of("list the folders"))
    assert (failure.kind, failure.retryable) == ("mismatch", False)
    assert "demo.jsonl has no answer" in failure.message
    assert "-list the files\n+list the folders" in failure.message


async def test_only_what_would_come_again_is_recorded(tmp_path: Path) -> None:
    """A retried failure and a cancelled call leave nothing; a lasting failure is played."""
    file = tmp_path / "demo.jsonl"
    script = ScriptedProvider(
        [fail("overloaded"), say("half") + hang(), fail("context_full", "too long"), say("short")]
    )
    recording = recorder(script, file, tmp_path)
    with anyio.fail_after(30):
        await failure_of(recording, request_of("a"))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask_once, recording, request_of("a"))
            await script.wait_until_hanging()
            tasks.cancel_scope.cancel()
        assert not file.exists()
        await failure_of(recording, request_of("a"))
        await answer_of(recording, request_of("b"))
        replay = await player(file, tmp_path)
        failure = await failure_of(replay, request_of("a"))
        answer = await answer_of(replay, request_of("b"))
    assert (failure.kind, failure.message) == ("context_full", "too long")
    assert answer.message.text == "short"


async def test_missing_and_damaged_files_are_refused_at_once_with_words(tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text("hello", encoding="utf-8")
    told = {"no.jsonl": "No such file", "": "Is a directory", "bad.jsonl": "line 1", "a\0": "read"}
    with anyio.fail_after(30):
        for name, why in told.items():
            with pytest.raises(UserError, match=why) as refused:
                await player(tmp_path / name, tmp_path)
            assert refused.value.next_step


async def test_edited_answer_that_makes_no_sense_is_a_failure(tmp_path: Path) -> None:
    file = tmp_path / "demo.jsonl"
    recording = recorder(ScriptedProvider([say("one")]), file, tmp_path)
    with anyio.fail_after(30):
        await answer_of(recording, request_of("a"))
        data = file.read_text(encoding="utf-8")
        file.write_text(data.replace('"text": "one"', '"txet": "one"'), encoding="utf-8")
        failure = await failure_of(await player(file, tmp_path), request_of("a"))
    assert failure.kind == "bad_request"
    assert "damaged" in failure.message


def test_replay_is_registered_and_needs_no_network() -> None:
    found: list[ProviderFactory] = []

    class Api:
        register_provider = staticmethod(found.append)

    register(Api())  # type: ignore[arg-type]
    (factory,) = found
    route = factory.describe("demo.jsonl", ProviderSettings())
    assert (factory.prefix, route.cloud, route.refusal) == ("replay", False, None)


@pytest.mark.proves("A06")
async def test_a_call_read_from_text_stays_one_and_nothing_is_written_of_others(
    tmp_path: Path,
) -> None:
    file = tmp_path / "run.jsonl"
    step = calls(recovered_call("read", path="a"), call("read", path="b"))
    await ask_once(recorder(ScriptedProvider([step]), file, tmp_path), request_of("go"))
    assert file.read_bytes().count(b"recovered") == 1
    assert b"asks_every_call" not in file.read_bytes()
    answer = await answer_of(await player(file, tmp_path), request_of("go"))
    assert [block.recovered for block in answer.message.tool_calls] == [True, False]


@pytest.mark.proves("A06")
async def test_a_replay_asks_each_call_where_the_recorded_model_was_weak(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    for name, is_weak in (("weak", True), ("strong", False)):
        model = ScriptedProvider([say("ok")], asks_every_call=is_weak)
        writer = CassetteWriter(file, fresh=is_weak)
        rec = RecordingProvider(model, writer, Placeholders({"cwd": str(tmp_path)}))
        await ask_once(rec, request_of(name))
    provider = await player(file, tmp_path)
    assert not provider.route.asks_every_call
    for name, is_weak in (("weak", True), ("strong", False)):
        await ask_once(provider, request_of(name))
        assert provider.route.asks_every_call is is_weak
