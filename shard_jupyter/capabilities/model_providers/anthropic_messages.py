"""The Messages API: `anthropic:…`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shard_jupyter.capabilities.model_providers.answer_assembly import (
    AnswerAssembly,
    MakeCallId,
    OpenBlock,
    OpenCall,
    OpenThinking,
    new_call_id,
    read_count,
)
from shard_jupyter.capabilities.model_providers.failures import incomplete_answer
from shard_jupyter.capabilities.model_providers.routes import Vendor
from shard_jupyter.capabilities.model_providers.sdk_provider import SdkFactory, WireProtocol
from shard_jupyter.capabilities.model_providers.wire.wire_content import Images
from shard_jupyter.capabilities.model_providers.wire.wire_history import WireHistory
from shard_jupyter.capabilities.model_providers.wire.wire_messages_anthropic import (
    REDACTED,
    anthropic_messages,
    anthropic_system,
    anthropic_tools,
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

ANTHROPIC = Vendor(
    prefix="anthropic",
    package="anthropic",
    default_base_url="https://api.anthropic.com",
    key_variable="ANTHROPIC_API_KEY",
    windows=(("claude-", 200_000),),
)
_STOPS: Mapping[str, StopReason] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}
_DEFAULT_OUTPUT = 16_384
_OLD_OUTPUT = (("claude-3-7", 16_384), ("claude-3-5", 8_192), ("claude-3", 4_096))
"""What old models allow at most; the API refuses a request that asks for more."""


def anthropic_body(
    request: ProviderRequest,
    route: RouteInfo,
    settings: ProviderSettings,
    images: Images,
    history: WireHistory | None = None,
) -> dict[str, Any]:
    del settings
    body: dict[str, Any] = {
        "model": request.model,
        "messages": anthropic_messages(request.messages, route.model_id, images, history),
        "max_tokens": request.max_output_tokens or _default_output(request.model),
        "stream": True,
    }
    if system := anthropic_system(request.system):
        body["system"] = system
    if request.tools:
        body["tools"] = anthropic_tools(request.tools)
    return body


def _default_output(model: str) -> int:
    return next((size for start, size in _OLD_OUTPUT if model.startswith(start)), _DEFAULT_OUTPUT)


class AnthropicReader:
    """Reads typed events. The stop reason makes the answer whole, `message_stop` only ends it."""

    def __init__(self, route: str, make_call_id: MakeCallId = new_call_id) -> None:
        self.error: object = None
        self.ended = False
        self._assembly = AnswerAssembly(route, make_call_id)
        self._blocks: dict[int, OpenBlock] = {}
        self._current = 0
        self._stop: str | None = None
        self._usage: dict[str, Any] = {}

    def take(self, event: Mapping[str, Any]) -> Sequence[ProviderEvent]:
        kind = event.get("type")
        if kind == "content_block_delta":
            return self._take_delta(event)
        if kind == "content_block_start":
            return self._take_start(event)
        if kind == "message_delta":
            delta = event.get("delta")
            stop = delta.get("stop_reason") if isinstance(delta, dict) else None
            self._stop = stop if isinstance(stop, str) else self._stop
            self._take_usage(event.get("usage"))
        elif kind == "message_start":
            message = event.get("message")
            self._take_usage(message.get("usage") if isinstance(message, dict) else None)
        elif kind == "message_stop":
            self.ended = True
        elif kind == "error" or event.get("error"):
            self.error = event.get("error") or event
        return ()

    def _take_start(self, event: Mapping[str, Any]) -> Sequence[ProviderEvent]:
        head = event.get("content_block")
        if not isinstance(head, dict):
            return ()
        index = event.get("index")
        self._current = index if isinstance(index, int) else len(self._blocks)
        block = self._open(head)
        if block is None:
            return ()
        self._blocks[self._current] = block
        # A compatible server may put into the head what others stream.
        if isinstance(block, OpenCall):
            block.add(head.get("input") or "")
            return ()
        whole = head.get("text") or head.get("thinking")
        shown = block.add(whole) if isinstance(whole, str) and whole else None
        return () if shown is None else (shown,)

    def _open(self, head: Mapping[str, Any]) -> OpenBlock | None:
        kind = head.get("type")
        if kind == "text":
            return self._assembly.open_text()
        if kind == "tool_use":
            name, vendor_id = head.get("name"), head.get("id")
            return self._assembly.open_call(
                name if isinstance(name, str) else "",
                vendor_id if isinstance(vendor_id, str) else "",
            )
        if kind not in ("thinking", REDACTED):
            return None
        thinking = self._assembly.open_thinking()
        if kind == REDACTED:
            thinking.vendor_data = {"type": REDACTED, "data": head.get("data", "")}
        return thinking

    def _take_delta(self, event: Mapping[str, Any]) -> Sequence[ProviderEvent]:
        delta = event.get("delta")
        block = self._blocks.get(event.get("index", self._current))
        if block is None or not isinstance(delta, dict):
            return ()
        for field in ("text", "partial_json", "thinking"):
            if isinstance(piece := delta.get(field), str):
                shown = block.add(piece)
                return () if shown is None else (shown,)
        if isinstance(block, OpenThinking) and isinstance(sign := delta.get("signature"), str):
            block.signature += sign
        elif isinstance(block, OpenCall):
            block.add(delta.get("partial_json"))  # an object in place of text
        return ()

    def _take_usage(self, usage: object) -> None:
        if isinstance(usage, dict):
            self._usage.update({key: value for key, value in usage.items() if value is not None})

    def finish(self) -> Answered | ProviderFailure:
        if self._stop is None:
            return incomplete_answer()
        stop = _STOPS.get(self._stop, "end")
        return self._assembly.answered(stop, read_anthropic_usage(self._usage))


def read_anthropic_usage(usage: Mapping[str, Any]) -> TokenUsage:
    """Here, alone of the three, the number of input tokens leaves the cached ones out."""
    fresh = read_count(usage, "input_tokens")
    read = read_count(usage, "cache_read_input_tokens")
    written = read_count(usage, "cache_creation_input_tokens")
    return TokenUsage(
        input_tokens=None if fresh is None else fresh + (read or 0) + (written or 0),
        output_tokens=read_count(usage, "output_tokens"),
        cache_read_tokens=read,
        cache_write_tokens=written,
    )


ANTHROPIC_FACTORY = SdkFactory(
    ANTHROPIC, WireProtocol("/v1/messages", anthropic_body, AnthropicReader)
)
