"""Chat completions: `openai:…`, and every server that speaks the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shard_jupyter.capabilities.model_providers.answer_assembly import (
    AnswerAssembly,
    MakeCallId,
    new_call_id,
    read_count,
)
from shard_jupyter.capabilities.model_providers.chat_calls import ChatCalls
from shard_jupyter.capabilities.model_providers.failures import incomplete_answer
from shard_jupyter.capabilities.model_providers.routes import Vendor
from shard_jupyter.capabilities.model_providers.sdk_provider import SdkFactory, WireProtocol
from shard_jupyter.capabilities.model_providers.sdk_wire import DONE
from shard_jupyter.capabilities.model_providers.wire.wire_content import Images
from shard_jupyter.capabilities.model_providers.wire.wire_history import WireHistory
from shard_jupyter.capabilities.model_providers.wire.wire_messages_chat import (
    REASONING_FIELD,
    chat_messages,
    chat_tools,
)
from shard_jupyter.contracts.provider import (
    Answered,
    ProviderEvent,
    ProviderFailure,
    ProviderRequest,
    ProviderSettings,
    RouteInfo,
    StopReason,
)
from shard_jupyter.types.usage import TokenUsage

OPENAI = Vendor(
    prefix="openai",
    package="openai",
    default_base_url="https://api.openai.com/v1",
    key_variable="OPENAI_API_KEY",
    windows=(
        ("gpt-5", 400_000), ("gpt-4.1", 1_047_576), ("gpt-4o", 128_000),
        ("o3", 200_000), ("o4", 200_000),
    ),
)  # fmt: skip
_OFFICIAL_HOST = "api.openai.com"
_STOPS: Mapping[str, StopReason] = {"length": "length", "content_filter": "refusal"}
_REASONING_FIELDS = ("reasoning_content", "reasoning")


def chat_body(
    request: ProviderRequest,
    route: RouteInfo,
    settings: ProviderSettings,
    images: Images,
    history: WireHistory | None = None,
) -> dict[str, Any]:
    del settings
    body: dict[str, Any] = {
        "model": request.model,
        "messages": chat_messages(
            request.system, request.messages, route.model_id, images, history
        ),
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if request.tools:
        body["tools"] = chat_tools(request.tools)
    if request.max_output_tokens is not None:
        # OpenAI's reasoning models refuse the old name, other servers do not know the new one.
        official = route.host == _OFFICIAL_HOST
        body["max_completion_tokens" if official else "max_tokens"] = request.max_output_tokens
    return body


class ChatReader:
    """Reads chunks. The finish reason is no end: deltas and usage may follow it."""

    def __init__(self, route: str, make_call_id: MakeCallId = new_call_id) -> None:
        self.error: object = None
        self.ended = False
        self._assembly = AnswerAssembly(route, make_call_id)
        self._calls = ChatCalls(self._assembly)
        self._usage: Mapping[str, Any] = {}
        self._finish: str | None = None
        self._refused = False

    def take(self, event: Mapping[str, Any]) -> Sequence[ProviderEvent]:
        choices = event.get("choices")
        if event.get("error") or event.get("type") == "error":
            self.error = event.get("error") or event
        elif event.get("type") == DONE:
            self.ended = True
        if isinstance(usage := event.get("usage"), dict):
            self._usage = usage
        out: list[ProviderEvent] = []
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict) and not choice.get("index"):
                self._take_choice(choice, out)
        return out

    def _take_choice(self, choice: Mapping[str, Any], out: list[ProviderEvent]) -> None:
        delta = choice.get("delta") or choice.get("message")
        if isinstance(delta, dict):
            self._take_delta(delta, out)
        if isinstance(reason := choice.get("finish_reason"), str) and reason:
            self._finish = reason
            if reason == "error":
                self.error = self.error or {"message": "the model ended with an error"}

    def _take_delta(self, delta: Mapping[str, Any], out: list[ProviderEvent]) -> None:
        content = delta.get("content")
        if len(delta) == 1 and isinstance(content, str):  # nearly all of a long answer
            self._take_text(content, out)
            return
        for field in _REASONING_FIELDS:
            if isinstance(piece := delta.get(field), str) and piece:
                self._take_reasoning(field, piece, out)
                break
        for piece in _texts(content):
            self._take_text(piece, out)
        if isinstance(refusal := delta.get("refusal"), str) and refusal:
            self._refused = True
            self._take_text(refusal, out)
        calls = delta.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, dict) and (shown := self._calls.take(call)) is not None:
                out.append(shown)

    def _take_text(self, piece: str, out: list[ProviderEvent]) -> None:
        if piece and (shown := self._assembly.running_text().add(piece)) is not None:
            out.append(shown)

    def _take_reasoning(self, field: str, piece: str, out: list[ProviderEvent]) -> None:
        block = self._assembly.running_thinking()
        block.vendor_data[REASONING_FIELD] = field
        if (shown := block.add(piece)) is not None:
            out.append(shown)

    def finish(self) -> Answered | ProviderFailure:
        if self._finish is None:
            return incomplete_answer()
        stop = "refusal" if self._refused else _STOPS.get(self._finish, "end")
        return self._assembly.answered(stop, read_chat_usage(self._usage))


def read_chat_usage(usage: Mapping[str, Any]) -> TokenUsage:
    return TokenUsage(
        input_tokens=read_count(usage, "prompt_tokens"),
        output_tokens=read_count(usage, "completion_tokens"),
        cache_read_tokens=read_count(usage, "prompt_tokens_details", "cached_tokens"),
        reasoning_tokens=read_count(usage, "completion_tokens_details", "reasoning_tokens"),
    )


def _texts(content: object) -> Sequence[str]:
    """Return the text of a delta, which a few servers send as a list of parts."""
    if isinstance(content, str):
        return (content,)
    if not isinstance(content, list):
        return ()
    texts = (part.get("text") for part in content if isinstance(part, dict))
    return [text for text in texts if isinstance(text, str)]


CHAT_FACTORY = SdkFactory(OPENAI, WireProtocol("/chat/completions", chat_body, ChatReader))
