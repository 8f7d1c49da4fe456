"""What goes back to the server with the next request."""

from __future__ import annotations

import base64
import json
from typing import Any

import anyio
import pytest

from shard_jupyter.errors import StorageError
from shard_jupyter.types.content import (
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
)
from shard_jupyter.types.messages import Message, user_text
from tests.fakes.model_server import (
    PATHS,
    MockModel,
    answer_of,
    converse,
    request_of,
)

pytestmark = [pytest.mark.proves("A13"), pytest.mark.parametrize("protocol", PATHS)]
CALL = '@@call write {"path": "a.txt"} '
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
IMAGE = ImageBlock(media_type="image/png", sha256="a" * 64, size_bytes=len(PNG))


class OneBlob:
    """A `BlobStore` that holds the one image."""

    async def put(self, data: bytes, media_type: str) -> ImageBlock:
        raise AssertionError("a provider never writes")

    async def get(self, sha256: str) -> bytes:
        if sha256 != IMAGE.sha256:
            raise StorageError("there is no such blob")
        return PNG


def thinking_in(protocol: str, body: dict[str, Any]) -> list[str]:
    if protocol == "chat":
        return [
            message["reasoning_content"]
            for message in body["messages"]
            if "reasoning_content" in message
        ]
    if protocol == "responses":
        return [
            part["text"]
            for item in body["input"]
            if item["type"] == "reasoning"
            for part in item["summary"]
        ]
    return [
        part["thinking"]
        for message in body["messages"]
        for part in message["content"]
        if part["type"] == "thinking"
    ]


def pairs_in(protocol: str, body: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Ids of the calls and of the results, in order."""
    if protocol == "chat":
        calls = [c["id"] for m in body["messages"] for c in m.get("tool_calls") or ()]
        return calls, [m["tool_call_id"] for m in body["messages"] if m["role"] == "tool"]
    if protocol == "responses":
        items = body["input"]
        calls = [item["call_id"] for item in items if item["type"] == "function_call"]
        return calls, [i["call_id"] for i in items if i["type"] == "function_call_output"]
    parts = [part for message in body["messages"] for part in message["content"]]
    calls = [part["id"] for part in parts if part["type"] == "tool_use"]
    return calls, [part["tool_use_id"] for part in parts if part["type"] == "tool_result"]


@pytest.mark.proves("H4d.42", "H2d.reasoning")
async def test_thinking_goes_back_to_the_route_that_wrote_it(
    protocol: str, mock_model: MockModel
) -> None:
    provider = await mock_model.provider(protocol)
    with anyio.fail_after(30):
        await converse(provider, f"go {CALL} @@quirk reasoning @@")
        first, second = await mock_model.get("/__bodies")
    assert thinking_in(protocol, first) == []
    assert thinking_in(protocol, second) == ["Let me think about this. "]
    if protocol == "anthropic":
        thinking = second["messages"][1]["content"][0]
        assert thinking["signature"] == "c2ln"
    if protocol == "responses":
        assert next(i for i in second["input"] if i["type"] == "reasoning")["id"].startswith("rs_")
    await provider.aclose()


@pytest.mark.proves("H4d.42")
async def test_thinking_of_another_model_stays_away(protocol: str, mock_model: MockModel) -> None:
    provider = await mock_model.provider(protocol)
    thought = ThinkingBlock(
        text="secret thoughts", route="anthropic:other", signature="s", vendor_data={"id": "rs_1"}
    )
    call = ToolCallBlock(call_id="call-1", name="write", arguments={"path": "a"})
    history = (
        Message(role="assistant", content=(thought, call)),
        Message(role="tool", content=(ToolResultBlock(call_id="call-1", name="write"),)),
        user_text("hello"),
    )
    with anyio.fail_after(30):
        await answer_of(provider, request_of("hi", *history))
        body = (await mock_model.get("/__bodies"))[0]
    assert "secret thoughts" not in json.dumps(body)
    assert "rs_1" not in json.dumps(body)
    assert pairs_in(protocol, body) == (["call-1"], ["call-1"])
    await provider.aclose()


@pytest.mark.parametrize("quirk", ["same_id", "const_id", "no_tool_id", "args_once"])
@pytest.mark.proves("H4d.38", "H2d.same_id")
async def test_each_result_goes_with_its_call_whatever_the_vendor_calls_them(
    protocol: str, quirk: str, mock_model: MockModel
) -> None:
    provider = await mock_model.provider(protocol)
    with anyio.fail_after(30):
        await converse(provider, f"go {CALL} @@times 3 @@par 2 @@quirk {quirk} @@")
        body = (await mock_model.get("/__bodies"))[-1]
    calls, results = pairs_in(protocol, body)
    assert calls == results
    assert len(set(calls)) == len(calls) == 6
    if quirk == "args_once":
        assert all("call_" in vendor_id for vendor_id in calls), "a sound vendor id goes back"
    await provider.aclose()


@pytest.mark.proves("H4d.44")
async def test_half_a_surrogate_pair_never_goes_out(protocol: str, mock_model: MockModel) -> None:
    provider = await mock_model.provider(protocol)
    half = "cut \ud83d here"
    call = ToolCallBlock(call_id="call-1", name="write", arguments={"path": half, half: [half]})
    result = ToolResultBlock(call_id="call-1", name="write", content=(TextBlock(text=half),))
    history = (
        Message(role="assistant", content=(TextBlock(text=half), call)),
        Message(role="tool", content=(result,)),
        user_text("now " + half),
    )
    with anyio.fail_after(30):
        await answer_of(provider, request_of(half, *history))
        body = (await mock_model.get("/__bodies"))[0]
    sent = json.dumps(body, ensure_ascii=False)
    assert sent.encode()  # would raise
    assert sent.count("cut \ufffd here") == 7
    await provider.aclose()


async def test_images_are_sent_where_the_protocol_has_a_place(
    protocol: str, mock_model: MockModel
) -> None:
    provider = await mock_model.provider(protocol, OneBlob())
    call = ToolCallBlock(call_id="call-1", name="write", arguments={})
    result = ToolResultBlock(
        call_id="call-1", name="write", content=(TextBlock(text="a plot"), IMAGE)
    )
    gone = IMAGE.model_copy(update={"sha256": "b" * 64})
    history = (
        Message(role="assistant", content=(call,)),
        Message(role="tool", content=(result,)),
        Message(role="user", content=(TextBlock(text="and this?"), gone)),
    )
    with anyio.fail_after(30):
        await answer_of(provider, request_of("hi", *history))
        body = (await mock_model.get("/__bodies"))[0]
    sent = json.dumps(body)
    assert sent.count(base64.b64encode(PNG).decode()) == 1
    assert "that is not available" in sent, "a lost image is told in words"
    if protocol == "chat":
        roles = [message["role"] for message in body["messages"]]
        assert roles == ["system", "user", "assistant", "tool", "user", "user"]
        assert body["messages"][4]["content"][1]["type"] == "image_url"
    await provider.aclose()


async def test_tokens_are_counted_with_the_cached_ones(
    protocol: str, mock_model: MockModel
) -> None:
    provider = await mock_model.provider(protocol)
    with anyio.fail_after(30):
        answered = await answer_of(provider, request_of("hello"))
    assert (answered.tokens.input_tokens, answered.tokens.output_tokens) == (100, 20)
    await provider.aclose()


async def test_request_depends_on_nothing_but_the_conversation(
    protocol: str, mock_model: MockModel
) -> None:
    provider = await mock_model.provider(protocol)
    with anyio.fail_after(30):
        for _ in range(2):
            await answer_of(provider, request_of("hello"))
        first, second = await mock_model.get("/__bodies")
    assert json.dumps(first) == json.dumps(second)
    await provider.aclose()
