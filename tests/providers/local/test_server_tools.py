"""A larger model is asked by the server's own way of calling tools: what goes out, what comes back."""

from __future__ import annotations

import json
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest

from shard_jupyter.contracts.provider import ArgumentsDelta, TextDelta
from shard_jupyter.contracts.tool import ToolSpec
from shard_jupyter.types.content import TextBlock, ThinkingBlock, ToolCallBlock
from shard_jupyter.types.messages import Message, user_text
from tests.fakes.local_server import Reply, write_answer
from tests.fakes.model_server import ask_once
from tests.local_asking import LARGE, SPECS, ask, called, request, result, talking_to

pytestmark = pytest.mark.proves("C10", "A13")
CALL = '{"name": "read", "arguments": {"path": "a.txt"}}'


def in_chat(text: str, **fields: Any) -> Reply:
    return Reply(text, **fields)


async def test_it_is_asked_by_chat_with_tools_and_without_a_choice() -> None:
    """`required` and a named choice are taken and not kept to, so neither is sent (L6.1, L6.2)."""
    async with talking_to(in_chat("Hello."), header=LARGE) as (server, provider):
        heard = await ask(provider, "Hi")
    (body,) = server.asked
    assert heard.text == "Hello."
    assert [tool["function"]["name"] for tool in body["tools"]] == [spec.name for spec in SPECS]
    assert "tool_choice" not in body
    assert server.requests[-1][0] == "/v1/chat/completions"
    assert set(server.keys) == {"Bearer 0123456789abcdef-local-key"}


@pytest.mark.proves("L6.7")
async def test_schemas_hold_nothing_that_a_grammar_cannot_be_made_of() -> None:
    schema = {
        "type": "object",
        "$defs": {"Kind": {"enum": ["a", "b"], "title": "Kind"}},
        "properties": {
            "date": {"type": "string", "pattern": r"^\d{4}$", "format": "date", "minLength": 1},
            "kind": {"$ref": "#/$defs/Kind"},
            "size": {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "null"}]},
            "all": {"type": "array", "items": {"type": "string", "pattern": "x"}},
        },
        "required": ["date"],
        "additionalProperties": False,
    }
    odd = ToolSpec(name="odd", description="Odd.", input_schema=schema)
    async with talking_to(in_chat("Hello."), header=LARGE) as (server, provider):
        await ask_once(provider, request("Hi", tools=(odd,)))
    (tool,) = server.asked[0]["tools"]
    assert tool["function"]["parameters"] == {
        "type": "object",
        "required": ["date"],
        "properties": {
            "date": {"type": "string"},
            "kind": {"enum": ["a", "b"]},
            "size": {"type": "integer"},
            "all": {"type": "array", "items": {"type": "string"}},
        },
    }


@pytest.mark.proves("L6.8", "L6.6", "L6.4", "L5.arguments", "L5.system")
async def test_a_history_goes_out_in_a_form_that_every_template_takes() -> None:
    """One system message, at the front; ids are text; what could not be read goes back as `{}`."""
    broken = ToolCallBlock(call_id="call-2", name="read", arguments_error="Invalid JSON.")
    messages = (
        user_text("Read a.txt"),
        called("read", path="a.txt"),
        result("one"),
        Message(role="assistant", content=(broken,)),
        result("Invalid JSON.", call_id="call-2", error=True),
        user_text("And now?"),
    )
    async with talking_to(in_chat("Done."), header=LARGE) as (server, provider):
        await ask(provider, *messages)
    sent = server.asked[0]["messages"]
    assert [message["role"] for message in sent].count("system") == 1
    assert sent[0]["role"] == "system"
    calls = [call for message in sent for call in message.get("tool_calls") or ()]
    assert [json.loads(call["function"]["arguments"]) for call in calls] == [{"path": "a.txt"}, {}]
    answers = [message for message in sent if message["role"] == "tool"]
    assert [answer["tool_call_id"] for answer in answers] == [call["id"] for call in calls]
    assert all(isinstance(call["id"], str) and call["id"] for call in calls)


@pytest.mark.proves("L6.3")
async def test_arguments_that_are_no_json_become_a_call_that_is_never_run() -> None:
    delta = {"tool_calls": [{"index": 0, "id": None, "type": "function",
                             "function": {"name": "read", "arguments": '{"path": "a'}}]}  # fmt: skip
    reply = Reply(chat=[{"role": "assistant", "content": None}, delta], finish="tool_calls")
    async with talking_to(reply, header=LARGE) as (_, provider):
        (call,) = (await ask(provider, "Hi")).calls
    assert call.arguments == {}
    assert call.arguments_error


@pytest.mark.parametrize(
    "text",
    [
        CALL,
        f"\n{CALL}\n",
        f"<tool_call>\n{CALL}\n</tool_call>",
        f"<tool_call>\n{CALL}",
        f"```json\n{CALL}\n```",
        f"```\n{CALL}\n```",
        '{"tool": "read", "args": {"path": "a.txt"}}',
        '{"name": "read", "parameters": {"path": "a.txt"}}',
        '{"name": "read", "arguments": "{\\"path\\": \\"a.txt\\"}"}',
    ],
)
@pytest.mark.proves("L6.1")
async def test_a_call_that_came_as_text_is_recovered_and_marked(text: str) -> None:
    async with talking_to(in_chat(text), header=LARGE) as (_, provider):
        heard = await ask(provider, "Read a.txt")
    (call,) = heard.calls
    assert (call.name, call.arguments, call.recovered) == ("read", {"path": "a.txt"}, True)
    assert heard.answer.stop_reason == "tool_calls"
    assert heard.text == heard.answer.message.text == ""
    (delta,) = [event for event in heard.events if isinstance(event, ArgumentsDelta)]
    assert (delta.call_id, delta.tool) == (call.call_id, "read")


@pytest.mark.parametrize(
    "text",
    [
        f"You can do it so: {CALL}",
        f"{CALL} is what I would call.",
        f"{CALL}\n{CALL}",
        f"```json\n{CALL}\n```\nThat is it.",
        f"```python\n{CALL}\n```",
        '{"name": "delete_all", "arguments": {}}',
        '{"name": "read", "arguments": {}}',
        '{"name": "read", "arguments": {"path": 3}}',
        '{"name": "read", "arguments": {"path": "a", "invented": 1}}',
        '{"name": "read", "arguments": {"path": "a"}, "why": "because"}',
        '{"name": "read", "tool": "read", "arguments": {"path": "a"}}',
        '{"name": "read", "name": "write", "arguments": {"path": "a", "content": "b"}}',
        '{"name": "read", "arguments": {"path": "a", "path": "b"}}',
        '{"name": "write", "arguments": {"path": "a", "content": "%s"}}' % ("x" * 70_000),
        '{"path": "a.txt"}',
        '["read", {"path": "a.txt"}]',
        "{",
    ],
)
async def test_what_only_looks_like_a_call_stays_text(text: str) -> None:
    async with talking_to(in_chat(text), header=LARGE) as (_, provider):
        heard = await ask(provider, "How would you read a.txt?")
    assert heard.calls == ()
    assert heard.text == heard.answer.message.text == text


async def test_a_call_in_text_that_was_cut_is_not_recovered() -> None:
    async with talking_to(in_chat(CALL, finish="length"), header=LARGE) as (_, provider):
        heard = await ask(provider, "Read")
    assert (heard.calls, heard.answer.stop_reason) == ((), "length")


async def test_a_call_on_the_wire_is_not_marked() -> None:
    delta = {"tool_calls": [{"index": 0, "id": "x", "type": "function",
                             "function": {"name": "read", "arguments": '{"path": "a"}'}}]}  # fmt: skip
    reply = Reply(chat=[delta], finish="tool_calls")
    async with talking_to(reply, header=LARGE) as (_, provider):
        (call,) = (await ask(provider, "Read")).calls
    assert (call.recovered, call.arguments) == (False, {"path": "a"})


async def test_plain_text_is_shown_at_once() -> None:
    async with (
        talking_to(in_chat("Hello, world.", hangs=True), header=LARGE) as (_, provider),
        aclosing(provider.stream(request("Hi"))) as events,
    ):
        first = await anext(events)
    assert first == TextDelta(text="Hel")


async def test_reasoning_belongs_to_the_local_route_and_goes_back() -> None:
    chat = [{"reasoning_content": "Hm."}, {"content": "Hello."}]
    async with talking_to(Reply(chat=chat), in_chat("Ok."), header=LARGE) as (server, provider):
        answer = (await ask(provider, "Hi")).answer.message
        thinking = next(block for block in answer.content if isinstance(block, ThinkingBlock))
        call = ToolCallBlock(call_id="call-1", name="read", arguments={"path": "a"})
        before = Message(role="assistant", content=(thinking, call))
        await ask(provider, "Hi", before, result("one"))
    assert thinking.route == "local:gguf:m"
    assert server.asked[1]["messages"][2]["reasoning_content"] == "Hm."


@pytest.mark.proves("L6.9")
async def test_a_template_that_fails_makes_it_be_asked_by_examples() -> None:
    async with talking_to(write_answer("Yes."), header=LARGE) as (server, provider):
        server.template = ""
        heard = await ask(provider, "Is it?")
    assert [notice.code for notice in heard.notices] == ["template_unusable"]
    assert heard.text == "Yes."
    assert server.requests[-1][0] == "/completion"


@pytest.mark.proves("L6.9")
async def test_another_template_than_the_files_own_is_named() -> None:
    replies = in_chat("Hello."), in_chat("Hello.")
    async with talking_to(*replies, header=LARGE, chat_template="chatml {x}") as (_, provider):
        first, second = await ask(provider, "Hi"), await ask(provider, "Hi")
    assert [(notice.code, "chatml {x}" in notice.message) for notice in first.notices] == [
        ("template_differs", True)
    ]
    assert second.notices == []


@pytest.mark.proves("L6.10")
async def test_a_dropped_front_is_told_of_once() -> None:
    replies = [in_chat("Hello.", prompt_tokens=20), in_chat("Hello.", prompt_tokens=20)]
    async with talking_to(*replies, header=LARGE) as (_, provider):
        first, second = await ask(provider, "word " * 100), await ask(provider, "word " * 100)
    assert [notice.code for notice in first.notices] == ["prompt_cut"]
    assert second.notices == []


@pytest.mark.parametrize(
    ("header", "running"),
    [
        (replace(LARGE, parameters=1_900_000_000), {"supports_tools": True}),
        (replace(LARGE, chat_template=""), {"supports_tools": True}),
        (LARGE, {"supports_tools": False}),
        (LARGE, {"dialect": "llama-cpp-python"}),
    ],
    ids=["tiny", "no template", "a template without tools", "the other engine"],
)
async def test_who_cannot_call_tools_the_servers_way_is_asked_by_examples(
    header: Any, running: Any
) -> None:
    """A template without tools drops them without a word, with status 200."""
    async with talking_to(write_answer("Yes."), header=header, **running) as (server, provider):
        heard = await ask(provider, "Is it?")
    assert heard.text == "Yes."
    assert "grammar" in server.asked[0]
    assert "tools" not in server.asked[0]


async def test_text_of_an_answer_with_a_call_beside_it_is_kept() -> None:
    call = {"tool_calls": [{"index": 0, "id": "x", "type": "function",
                            "function": {"name": "read", "arguments": '{"path": "a"}'}}]}  # fmt: skip
    reply = Reply(chat=[{"content": CALL}, call], finish="tool_calls")
    async with talking_to(reply, header=LARGE) as (_, provider):
        heard = await ask(provider, "Read")
    assert heard.text == CALL
    assert [block for block in heard.answer.message.content if isinstance(block, TextBlock)]
