"""The pure readers of events, fed by the mock model's own event makers, cut anywhere."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from shard_jupyter.capabilities.model_providers.anthropic_messages import (
    AnthropicReader,
    read_anthropic_usage,
)
from shard_jupyter.capabilities.model_providers.openai_chat import ChatReader
from shard_jupyter.capabilities.model_providers.openai_responses import ResponsesReader
from shard_jupyter.contracts.provider import Answered, ProviderEvent, ProviderFailure
from tests.fakes.mock_model import EVENTS, Plan

pytestmark = pytest.mark.proves("A13")
READERS: dict[str, Callable[..., Any]] = {
    "chat": ChatReader,
    "responses": ResponsesReader,
    "anthropic": AnthropicReader,
}
PROMPT = 'go @@call write {"path": "a.txt"} @@par 2 @@quirk reasoning '
PROTOCOLS = pytest.mark.parametrize("protocol", READERS)


def events_of(protocol: str, prompt: str) -> list[dict[str, Any]]:
    message = {"role": "user", "content": prompt}
    body = {"messages": [message], "input": [message], "stream_options": {"include_usage": True}}
    made = EVENTS[protocol](Plan(protocol, body), body)
    return [{"type": "[DONE]"} if data == "[DONE]" else data for _, data in made]


def read(
    protocol: str, events: list[dict[str, Any]]
) -> tuple[list[ProviderEvent], Answered | ProviderFailure, Any]:
    numbers = count(1)
    reader = READERS[protocol]("route:m", lambda: f"call-{next(numbers)}")
    shown = [delta for event in events for delta in reader.take(event)]
    return shown, reader.finish(), reader


@PROTOCOLS
@pytest.mark.proves("H4d.39")
def test_no_prefix_of_a_stream_is_an_answer_before_its_mark(protocol: str) -> None:
    """Only what comes after the reason to stop (the last done item) may be missing."""
    events = events_of(protocol, PROMPT)
    last = next(
        number
        for number, event in reversed(list(enumerate(events, 1)))
        if event.get("type") in ("response.output_item.done", "message_delta")
        or any(choice["finish_reason"] for choice in event.get("choices", ()))
    )
    whole = read(protocol, events)[1]
    assert isinstance(whole, Answered)
    for length in range(len(events)):
        outcome = read(protocol, events[:length])[1]
        if length >= last:
            assert isinstance(outcome, Answered)
            assert outcome.message == whole.message
        elif isinstance(outcome, Answered):
            # Items that are done are whole, and nothing can tell that more were to come.
            assert protocol == "responses"
            assert outcome.message.content == whole.message.content[: len(outcome.message.content)]
            assert events[length - 1]["type"] == "response.output_item.done"


@PROTOCOLS
@pytest.mark.parametrize(
    "event",
    [
        {}, {"type": "unheard_of"}, {"choices": None}, {"choices": [None]}, {"choices": [{}]},
        {"choices": [{"delta": []}]}, {"choices": [{"delta": {"tool_calls": [None], "content": 7}}]},
        {"type": "content_block_delta"}, {"type": "content_block_delta", "index": 9, "delta": {}},
        {"type": "content_block_start"}, {"type": "content_block_start", "content_block": {"type": "x"}},
        {"type": "message_delta"}, {"type": "message_start"}, {"type": "message_delta", "usage": 7},
        {"type": "response.output_text.delta"}, {"type": "response.output_item.added", "item": 7},
        {"type": "response.output_item.done"}, {"type": "response.function_call_arguments.done"},
        {"type": "response.reasoning_summary_part.added"}, {"usage": {"prompt_tokens": "x"}},
    ],
)  # fmt: skip
def test_event_that_makes_no_sense_changes_nothing(protocol: str, event: dict[str, Any]) -> None:
    events = events_of(protocol, PROMPT)
    expected = read(protocol, events)[1]
    assert isinstance(expected, Answered)
    for place in (0, len(events) // 2):
        outcome = read(protocol, [*events[:place], event, *events[place:]])[1]
        assert isinstance(outcome, Answered)
        assert outcome.message == expected.message


@PROTOCOLS
@pytest.mark.parametrize("stop", ["length", "refusal"])
def test_vendor_reasons_to_stop(protocol: str, stop: str) -> None:
    events = events_of(protocol, "hello")
    text = json.dumps(events)
    names = {
        "chat": {"length": '"length"', "refusal": '"content_filter"'},
        "anthropic": {"length": '"max_tokens"', "refusal": '"refusal"'},
    }
    if protocol == "responses":
        why = "max_output_tokens" if stop == "length" else "content_filter"
        last = events[-1]["response"]
        last.update(status="incomplete", incomplete_details={"reason": why})
        events[-1]["type"] = "response.incomplete"
    else:
        old = '"stop"' if protocol == "chat" else '"end_turn"'
        events = json.loads(text.replace(old, names[protocol][stop]))
    outcome = read(protocol, events)[1]
    assert isinstance(outcome, Answered)
    assert outcome.stop_reason == stop


def test_chat_answer_that_refuses() -> None:
    chunk = {"choices": [{"delta": {"refusal": "I will not."}, "finish_reason": "stop"}]}
    outcome = read("chat", [chunk])[1]
    assert isinstance(outcome, Answered)
    assert (outcome.stop_reason, outcome.message.text) == ("refusal", "I will not.")


def test_chat_answer_that_ends_with_an_error_is_none() -> None:
    reader = read("chat", [{"choices": [{"delta": {}, "finish_reason": "error"}]}])[2]
    assert reader.error


def test_chat_deltas_after_the_finish_reason_are_taken_in() -> None:
    early = {"choices": [{"delta": {"content": "a"}, "finish_reason": "stop"}]}
    late = {"choices": [{"delta": {"content": "b"}}]}
    outcome = read("chat", [early, late, {"choices": [], "usage": {"prompt_tokens": 3}}])[1]
    assert isinstance(outcome, Answered)
    assert outcome.message.text == "ab"
    assert outcome.tokens.input_tokens == 3


def test_chat_reasoning_in_either_field_goes_back_in_the_same() -> None:
    for field in ("reasoning", "reasoning_content"):
        chunk = {"choices": [{"delta": {field: "hm"}, "finish_reason": "stop"}]}
        outcome = read("chat", [chunk])[1]
        assert isinstance(outcome, Answered)
        assert outcome.message.content[0].vendor_data == {"field": field}  # type: ignore[union-attr]


def test_chat_content_as_a_list_of_parts_is_text() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}, 7]
    outcome = read("chat", [{"choices": [{"delta": {"content": parts}, "finish_reason": "stop"}]}])[
        1
    ]
    assert isinstance(outcome, Answered)
    assert outcome.message.text == "ab"


def test_responses_items_told_only_at_the_end_are_taken_in() -> None:
    events = events_of("responses", PROMPT)
    outcome = read("responses", [events[-1]])[1]
    assert isinstance(outcome, Answered)
    assert [block.kind for block in outcome.message.content] == [
        "thinking", "text", "tool_call", "tool_call",
    ]  # fmt: skip


def test_responses_reasoning_alone_is_no_answer() -> None:
    events = events_of("responses", PROMPT)
    done = next(n for n, e in enumerate(events) if e["type"] == "response.output_item.done")
    assert isinstance(read("responses", events[: done + 1])[1], ProviderFailure)


def test_anthropic_redacted_thinking_is_kept_to_be_sent_back() -> None:
    block = {"type": "redacted_thinking", "data": "zzz"}
    events = [
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
    ]
    outcome = read("anthropic", events)[1]
    assert isinstance(outcome, Answered)
    assert outcome.message.content[0].vendor_data == block  # type: ignore[union-attr]


def test_anthropic_input_tokens_hold_the_cached_ones() -> None:
    usage = {
        "input_tokens": 10, "cache_read_input_tokens": 200, "cache_creation_input_tokens": 30,
        "output_tokens": 7,
    }  # fmt: skip
    tokens = read_anthropic_usage(usage)
    assert (tokens.input_tokens, tokens.cache_read_tokens, tokens.cache_write_tokens) == (
        240,
        200,
        30,
    )


@PROTOCOLS
def test_unknown_tokens_stay_unknown(protocol: str) -> None:
    events = [
        {key: value for key, value in event.items() if key != "usage"}
        for event in events_of(protocol, "hello")
    ]
    events = json.loads(json.dumps(events).replace('"usage"', '"unused"'))
    outcome = read(protocol, events)[1]
    assert isinstance(outcome, Answered)
    assert outcome.tokens.model_dump(exclude_none=True) == {}
