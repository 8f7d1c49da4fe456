"""The file: what is written once, what is kept, what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import anyio
import pytest

from shard_jupyter.capabilities.cassettes.canonical import canonical_message, canonical_request
from shard_jupyter.capabilities.cassettes.cassette import (
    Cassette,
    CassetteWriter,
    entries_of,
    parse_cassette,
)
from shard_jupyter.capabilities.cassettes.mismatch import MOST_LINES, explain_mismatch
from shard_jupyter.capabilities.cassettes.placeholders import Numbering, Placeholders
from shard_jupyter.contracts.provider import ProviderRequest
from shard_jupyter.contracts.tool import ToolSpec
from shard_jupyter.errors import ConfigError, StorageError
from shard_jupyter.types.content import TextBlock, ToolCallBlock, ToolResultBlock
from shard_jupyter.types.messages import Message, user_text

pytestmark = pytest.mark.proves("E04")
NO_PLACES = Placeholders({})
TOOL = ToolSpec(name="read", description="Read.", input_schema={"type": "object"})


def say(text: str) -> Message:
    return Message(role="assistant", content=(TextBlock(text=text),))


def request_of(*messages: Message, system: str = "S", **fields: object) -> ProviderRequest:
    return ProviderRequest(model="m", system=system, messages=messages, **fields)  # type: ignore[arg-type]


def entries(request: ProviderRequest, answer: Message) -> list[dict[str, object]]:
    numbering = Numbering()
    asked = canonical_request(request, NO_PLACES, numbering)
    said = canonical_message(answer, NO_PLACES, numbering)
    return list(entries_of(asked, said, {"stop_reason": "end", "tokens": {}}))


def cassette_of(*pairs: tuple[ProviderRequest, Message]) -> Cassette:
    lines = [{"type": "cassette", "version": 1}]
    for request, answer in pairs:
        lines += entries(request, answer)  # type: ignore[arg-type]
    return parse_cassette("\n".join(map(json.dumps, lines)).encode(), "x")


async def test_growing_conversation_is_written_once(tmp_path: Path) -> None:
    writer = CassetteWriter(tmp_path / "c.jsonl")
    history = [user_text("0")]
    with anyio.fail_after(10):
        for number in range(1, 40):
            answer = say(str(number))
            await writer.add(entries(request_of(*history), answer))
            history += [answer, user_text(str(number))]
    lines = (tmp_path / "c.jsonl").read_bytes().split(b"\n")
    kinds = [json.loads(line)["type"] for line in lines if line]
    assert kinds.count("message") == 2 * 39
    assert kinds.count("answer") == 39
    assert kinds.count("system") == kinds.count("tools") == kinds.count("cassette") == 1


async def test_fresh_writer_starts_anew_and_the_other_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    first = entries(request_of(user_text("a")), say("b"))
    second = entries(request_of(user_text("c")), say("d"))
    with anyio.fail_after(10):
        await CassetteWriter(path).add(first)
        once = path.read_bytes()
        await CassetteWriter(path, fresh=False).add(second)
        both = path.read_bytes()
        assert both.startswith(once)
        assert both.count(b'"type": "system"') == 1
        await CassetteWriter(path).add(first)
    assert path.read_bytes() == once


async def test_entries_of_others_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    other = {"type": "remark", "rule": {"tool": "bash"}}
    with anyio.fail_after(10):
        await CassetteWriter(path).add([other])
        await CassetteWriter(path, fresh=False).add(entries(request_of(user_text("a")), say("b")))
    assert parse_cassette(path.read_bytes(), "c").others == [other]


async def test_invisible_characters_are_written_as_escapes(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    text = "a\u2028b\u202ec\u200dd\x85e\ufeff Grüße 世界 🙂"
    with anyio.fail_after(10):
        await CassetteWriter(path).add(entries(request_of(user_text(text)), say(text)))
    data = path.read_bytes()
    assert b"\\u2028" in data
    assert "Grüße 世界 🙂".encode() in data
    assert len(data.decode().splitlines()) == data.count(b"\n"), "one line an entry in any editor"
    messages = parse_cassette(data, "c").messages.values()
    assert {message["content"][0]["text"] for message in messages} == {text}


async def test_unwritable_file_is_a_storage_error(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="cannot be written"):
        await CassetteWriter(tmp_path / "no" / "c.jsonl").add([{"type": "x"}])


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "line 1"),
        (b"hello", "line 1"),
        (b'{"type":"session"}', "line 1"),
        (b'{"type":"cassette"}', "line 1"),
        (b"[]", "line 1"),
        (b'{"type":"cassette","version":1}\n{"type":"message"}', "line 2"),
        (b'{"type":"cassette","version":1}\n\xff', "line 2"),
        (b'{"type":"cassette","version":1}\n' + b"[" * 100_000, "line 2"),
        (b'{"type":"cassette","version":2}', "version 2"),
    ],
)
def test_what_is_no_cassette_is_refused_by_line(data: bytes, said: str) -> None:
    with pytest.raises(ConfigError, match=said) as raised:
        parse_cassette(data, "demo.jsonl")
    assert "demo.jsonl" in str(raised.value)
    assert raised.value.next_step


def test_key_ignores_ids_model_and_limits_but_nothing_that_is_told() -> None:
    def key(**fields: object) -> tuple[str, str, str]:
        base = {"model": "m", "system": "S", "messages": conversation("call-a", "one")}
        request = ProviderRequest(**{**base, **fields})  # type: ignore[arg-type]
        return canonical_request(request, NO_PLACES, Numbering()).key

    def conversation(call_id: str, result: str, **call: object) -> tuple[Message, ...]:
        block = ToolCallBlock(call_id=call_id, name="read", arguments={"n": 1}, **call)  # type: ignore[arg-type]
        back = ToolResultBlock(call_id=call_id, name="read", content=(TextBlock(text=result),))
        return (
            user_text("go"),
            Message(role="assistant", content=(block,)),
            Message(role="tool", content=(back,)),
        )

    assert key() == key(model="other", max_output_tokens=7)
    assert key() == key(messages=conversation("call-zzz", "one", vendor_id="toolu_9"))
    assert key() != key(system="T")
    assert key() != key(tools=(TOOL,))
    assert key() != key(messages=conversation("call-a", "two"))
    assert key() != key(messages=conversation("call-a", "one")[:2])


def test_mismatch_shows_the_first_difference_with_the_nearest_request() -> None:
    cassette = cassette_of(
        (request_of(user_text("something else")), say("x")),
        (request_of(user_text("list the files\nin src")), say("y")),
        (
            request_of(user_text("list the files\nin src"), say("y"), user_text("sort them")),
            say("z"),
        ),
    )
    asked = request_of(user_text("list the files\nin src"), say("y"), user_text("count them"))
    told = explain_mismatch(cassette, canonical_request(asked, NO_PLACES, Numbering()))
    assert told == (
        "The first 2 messages are the same.\n"
        "--- recorded\n+++ asked\n@@ -1,2 +1,2 @@\n user:\n-sort them\n+count them"
    )


def test_mismatch_shows_system_and_tools_only_where_they_differ() -> None:
    cassette = cassette_of((request_of(user_text("a")), say("b")))
    asked = request_of(user_text("a"), system="S\nmore", tools=(TOOL,))
    told = explain_mismatch(cassette, canonical_request(asked, NO_PLACES, Numbering()))
    assert "+more" in told
    assert '+tool {"description":"Read."' in told
    assert "user:" not in told


def test_mismatch_is_short_however_much_differs() -> None:
    cassette = cassette_of((request_of(user_text("x\n" * 5000)), say("b")))
    asked = request_of(user_text("y" * 100_000 + "\n" + "z\n" * 5000))
    told = explain_mismatch(cassette, canonical_request(asked, NO_PLACES, Numbering()))
    lines = told.split("\n")
    assert len(lines) <= MOST_LINES + 2
    assert max(map(len, lines)) <= 200


def test_empty_cassette_says_so() -> None:
    asked = canonical_request(request_of(user_text("a")), NO_PLACES, Numbering())
    assert explain_mismatch(cassette_of(), asked) == "It holds no answer at all."
