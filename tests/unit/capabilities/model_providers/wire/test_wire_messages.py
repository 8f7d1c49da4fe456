"""Our messages in each vendor's shape."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from shard_jupyter.capabilities.model_providers.anthropic_messages import anthropic_body
from shard_jupyter.capabilities.model_providers.openai_chat import chat_body
from shard_jupyter.capabilities.model_providers.openai_responses import responses_body
from shard_jupyter.capabilities.model_providers.wire.wire_content import wire_ids
from shard_jupyter.capabilities.model_providers.wire.wire_messages_anthropic import (
    anthropic_messages,
)
from shard_jupyter.contracts.provider import ProviderRequest, ProviderSettings, RouteInfo
from shard_jupyter.contracts.tool import ToolSpec
from shard_jupyter.types.content import (
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
)
from shard_jupyter.types.messages import Message, user_text

pytestmark = pytest.mark.proves("A13")
ROUTE = RouteInfo(model_id="p:m", cloud=True, host="api.openai.com")
ELSEWHERE = RouteInfo(model_id="p:m", cloud=True, host="example.com")
TOOL = ToolSpec(name="read", description="Read.", input_schema={"type": "object"})
IMAGE = ImageBlock(media_type="image/png", sha256="a" * 64, size_bytes=3)
BUILDERS = {"chat": chat_body, "responses": responses_body, "anthropic": anthropic_body}
CONVERSATION = (
    user_text("look"),
    Message(
        role="assistant",
        content=(
            ThinkingBlock(text="hm", route="p:m", signature="sig", vendor_data={"id": "rs_1"}),
            TextBlock(text="I look."),
            ToolCallBlock(call_id="call-A", name="read", arguments={"n": 1}, vendor_id="v1"),
            ToolCallBlock(call_id="call-B", name="read", arguments={}, arguments_error="cut"),
        ),
    ),
    Message(
        role="tool",
        content=(
            ToolResultBlock(call_id="call-A", name="read", content=(TextBlock(text="one"), IMAGE)),
            ToolResultBlock(
                call_id="call-B", name="read", content=(TextBlock(text="cut"),), is_error=True
            ),
        ),
    ),
    user_text("go on"),
)


def build(protocol: str, *messages: Message, route: RouteInfo = ROUTE, **fields: Any) -> Any:
    request = ProviderRequest(
        model="m", system="S", messages=messages or CONVERSATION, tools=(TOOL, TOOL), **fields
    )
    images = {"a" * 64: "aW1n"}
    return BUILDERS[protocol](request, route, ProviderSettings(), images)


def test_chat_shape() -> None:
    url = {"url": "data:image/png;base64,aW1n"}
    assert build("chat")["messages"] == [
        {"role": "system", "content": "S"},
        {"role": "user", "content": "look"},
        {
            "role": "assistant",
            "content": "I look.",
            "reasoning_content": "hm",
            "tool_calls": [
                {"id": "v1", "type": "function", "function": {"name": "read", "arguments": '{"n": 1}'}},
                {"id": "call-B", "type": "function", "function": {"name": "read", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "tool_call_id": "v1", "content": "one"},
        {"role": "tool", "tool_call_id": "call-B", "content": "cut"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Images of the results above:"},
                {"type": "image_url", "image_url": url},
            ],
        },
        {"role": "user", "content": "go on"},
    ]  # fmt: skip


def test_responses_shape() -> None:
    assert build("responses")["input"] == [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "look"}]},
        {"type": "reasoning", "summary": [], "id": "rs_1"},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "I look.", "annotations": []}],
        },
        {"type": "function_call", "call_id": "v1", "name": "read", "arguments": '{"n": 1}'},
        {"type": "function_call", "call_id": "call-B", "name": "read", "arguments": "{}"},
        {
            "type": "function_call_output",
            "call_id": "v1",
            "output": [
                {"type": "input_text", "text": "one"},
                {
                    "type": "input_image",
                    "image_url": "data:image/png;base64,aW1n",
                    "detail": "auto",
                },
            ],
        },
        {"type": "function_call_output", "call_id": "call-B", "output": "cut"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go on"}]},
    ]


def test_anthropic_shape() -> None:
    mark = {"type": "ephemeral"}
    body = build("anthropic")
    assert body["system"] == [{"type": "text", "text": "S", "cache_control": mark}]
    assert body["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "look", "cache_control": mark}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "sig"},
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "v1", "name": "read", "input": {"n": 1}},
                {"type": "tool_use", "id": "call-B", "name": "read", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "v1",
                    "content": [
                        {"type": "text", "text": "one"},
                        {
                            "type": "image",
                            "source": {"type": "base64", "media_type": "image/png", "data": "aW1n"},
                        },
                    ],
                },
                {
                    "type": "tool_result",
                    "tool_use_id": "call-B",
                    "content": [{"type": "text", "text": "cut"}],
                    "is_error": True,
                },
                {"type": "text", "text": "go on", "cache_control": mark},
            ],
        },
    ]


def test_anthropic_cache_marks_are_at_most_four_and_follow_the_conversation() -> None:
    turns = [user_text("a"), Message(role="assistant", content=(TextBlock(text="b"),))] * 4
    for length in (1, 3, 5, 7):
        body = build("anthropic", *turns[:length])
        assert json.dumps(body).count("cache_control") == min(4, 3 + length // 2)
        assert "cache_control" in body["messages"][-1]["content"][-1]
        assert "cache_control" in body["tools"][-1]
        if length > 1:
            assert "cache_control" in body["messages"][-3]["content"][-1], "the last one's end"


@pytest.mark.parametrize("text", ["", "  \n"])
def test_anthropic_never_sends_a_text_without_a_character(text: str) -> None:
    assistant = Message(role="assistant", content=(TextBlock(text=text),))
    sent = anthropic_messages((user_text(text), assistant, user_text("x")), "p:m", {})
    assert sent == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "(empty)"},
                {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}},
            ],
        }
    ]


def test_name_of_the_output_limit_depends_on_the_host() -> None:
    official = build("chat", max_output_tokens=9)
    assert (official.get("max_completion_tokens"), official.get("max_tokens")) == (9, None)
    other = build("chat", route=ELSEWHERE, max_output_tokens=9)
    assert (other.get("max_completion_tokens"), other.get("max_tokens")) == (None, 9)
    assert build("responses", max_output_tokens=9)["max_output_tokens"] == 9
    assert build("anthropic", max_output_tokens=9)["max_tokens"] == 9
    assert build("anthropic")["max_tokens"] > 0, "the API insists on it"


@pytest.mark.parametrize(
    ("model", "asks"), [("gpt-5.1", True), ("o3-mini", True), ("gpt-4o", False), ("llama", False)]
)
def test_only_reasoning_models_are_asked_for_encrypted_reasoning(model: str, asks: bool) -> None:
    request = ProviderRequest(model=model, system="", messages=(user_text("x"),))
    body = responses_body(request, ROUTE, ProviderSettings(), {})
    assert ("include" in body) == asks
    assert body["store"] is False


@pytest.mark.proves("H4d.38")
def test_ids_on_the_wire_stay_the_same_as_the_conversation_grows() -> None:
    calls = [ToolCallBlock(call_id=f"call-{n}", name="x", vendor_id="same") for n in range(4)]
    messages = [Message(role="assistant", content=(call,)) for call in calls]
    pattern = re.compile(r"[a-z0-9-]+")
    whole = wire_ids(messages, pattern)
    assert whole == {"call-0": "same", "call-1": "call-1", "call-2": "call-2", "call-3": "call-3"}
    for length in range(4):
        part = wire_ids(messages[:length], pattern)
        assert part == {name: whole[name] for name in part}


def test_id_that_the_protocol_does_not_take_is_replaced_by_ours() -> None:
    odd = "functions.read:0"
    call = ToolCallBlock(call_id="call-1", name="read", vendor_id=odd)
    message = Message(role="assistant", content=(call,))
    assert build("chat", message)["messages"][1]["tool_calls"][0]["id"] == odd
    assert build("responses", message)["input"][0]["call_id"] == "call-1"
    assert build("anthropic", message)["messages"][0]["content"][0]["id"] == "call-1"
