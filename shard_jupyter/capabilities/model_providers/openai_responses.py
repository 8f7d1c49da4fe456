"""The Responses API: `openai-responses:…`. Stateless: the whole conversation goes each time."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from shard_jupyter.capabilities.model_providers.answer_assembly import (
    AnswerAssembly,
    MakeCallId,
    OpenBlock,
    OpenCall,
    OpenText,
    OpenThinking,
    new_call_id,
    read_count,
)
from shard_jupyter.capabilities.model_providers.failures import incomplete_answer
from shard_jupyter.capabilities.model_providers.openai_chat import OPENAI
from shard_jupyter.capabilities.model_providers.sdk_provider import SdkFactory, WireProtocol
from shard_jupyter.capabilities.model_providers.wire.wire_content import Images
from shard_jupyter.capabilities.model_providers.wire.wire_history import WireHistory
from shard_jupyter.capabilities.model_providers.wire.wire_messages_responses import (
    responses_input,
    responses_tools,
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

OPENAI_RESPONSES = replace(OPENAI, prefix="openai-responses")
# Only these encrypt their reasoning; other models refuse a request that asks for it.
_REASONING_MODEL = re.compile(r"(o\d|gpt-[5-9]|codex)")
_KEPT_OF_REASONING = ("id", "summary", "content", "encrypted_content")
_DELTAS = frozenset(
    {
        "response.output_text.delta",
        "response.refusal.delta",
        "response.reasoning_summary_text.delta",
        "response.reasoning_text.delta",
        "response.function_call_arguments.delta",
    }
)


def responses_body(
    request: ProviderRequest,
    route: RouteInfo,
    settings: ProviderSettings,
    images: Images,
    history: WireHistory | None = None,
) -> dict[str, Any]:
    del settings
    body: dict[str, Any] = {
        "model": request.model,
        "instructions": request.system,
        "input": responses_input(request.messages, route.model_id, images, history),
        "stream": True,
        "store": False,
    }
    if _REASONING_MODEL.match(request.model):
        body["include"] = ["reasoning.encrypted_content"]
    if request.tools:
        body["tools"] = responses_tools(request.tools)
    if request.max_output_tokens is not None:
        body["max_output_tokens"] = request.max_output_tokens
    return body


class ResponsesReader:
    """Reads typed events. Items are told apart by `output_index`, never by their ids."""

    def __init__(self, route: str, make_call_id: MakeCallId = new_call_id) -> None:
        self.error: object = None
        self.ended = False
        self._assembly = AnswerAssembly(route, make_call_id)
        self._items: dict[int, OpenBlock | None] = {}
        self._done: set[int] = set()
        self._current = 0
        self._stop: StopReason = "end"
        self._usage: Mapping[str, Any] = {}

    def take(self, event: Mapping[str, Any]) -> Sequence[ProviderEvent]:
        kind = event.get("type")
        if kind in _DELTAS:
            return self._take_delta(str(kind), event)
        if kind == "response.output_item.added":
            self._item(event, event.get("item"))
        elif kind == "response.output_item.done":
            return self._take_done(self._place(event), event.get("item"))
        elif kind == "response.function_call_arguments.done":
            self._take_arguments(event)
        elif kind == "response.reasoning_summary_part.added":
            return self._part_break(event)
        elif kind in ("response.completed", "response.incomplete"):
            return self._take_end(event.get("response"))
        elif kind == "response.failed":
            response = event.get("response")
            error = response.get("error") if isinstance(response, dict) else None
            self.error = error or {"message": "the response failed"}
        elif kind == "error" or event.get("error"):
            self.error = event.get("error") or event
        return ()

    def _take_delta(self, kind: str, event: Mapping[str, Any]) -> Sequence[ProviderEvent]:
        piece = event.get("delta")
        if not isinstance(piece, str):
            return ()
        block = self._items.get(self._place(event))
        if block is None:
            block = self._item(event, {"type": _item_type(kind)})
        if kind == "response.refusal.delta":
            self._stop = "refusal"
        shown = block.add(piece) if block is not None else None
        return () if shown is None else (shown,)

    def _part_break(self, event: Mapping[str, Any]) -> Sequence[ProviderEvent]:
        block = self._items.get(self._place(event))
        if not isinstance(block, OpenThinking) or block.is_empty:
            return ()
        shown = block.add("\n\n")
        return () if shown is None else (shown,)

    def _take_arguments(self, event: Mapping[str, Any]) -> None:
        block = self._items.get(self._place(event))
        if isinstance(block, OpenCall):
            block.replace(event.get("arguments"))

    def _item(self, event: Mapping[str, Any], item: object) -> OpenBlock | None:
        """Open the block of an item; None for kinds that are not ours to show."""
        index = self._place(event)
        if not isinstance(item, dict) or index in self._items:
            return self._items.get(index)
        kind = item.get("type")
        block: OpenBlock | None = None
        if kind == "message":
            block = self._assembly.open_text()
        elif kind == "reasoning":
            block = self._assembly.open_thinking()
        elif kind == "function_call":
            name, call_id = item.get("name"), item.get("call_id")
            block = self._assembly.open_call(
                name if isinstance(name, str) else "", call_id if isinstance(call_id, str) else ""
            )
        self._items[index] = block
        self._current = index
        return block

    def _place(self, event: Mapping[str, Any]) -> int:
        index = event.get("output_index")
        return index if isinstance(index, int) else self._current

    def _take_done(self, index: int, item: object) -> Sequence[ProviderEvent]:
        """Close an item. What it says at the end counts where nothing was streamed before."""
        if index in self._done or not isinstance(item, dict):
            return ()
        self._done.add(index)
        block = self._item({"output_index": index}, item)
        if isinstance(block, OpenCall):
            name = item.get("name")
            block.name = block.name or (name if isinstance(name, str) else "")
            block.replace(item.get("arguments"))
        elif isinstance(block, OpenThinking):
            block.vendor_data.update(
                {key: item[key] for key in _KEPT_OF_REASONING if item.get(key) is not None}
            )
        if isinstance(block, (OpenText, OpenThinking)) and block.is_empty:
            shown = block.add(text) if (text := _text_of(item)) else None
            return () if shown is None else (shown,)
        return ()

    def _take_end(self, response: object) -> Sequence[ProviderEvent]:
        self.ended = True
        out: list[ProviderEvent] = []
        if not isinstance(response, dict):
            return out
        items = response.get("output")
        if isinstance(items, list):
            for index, item in enumerate(items):
                out.extend(self._take_done(index, item))
        details = response.get("incomplete_details")
        reason = details.get("reason") if isinstance(details, dict) else None
        if reason or response.get("status") == "incomplete":
            self._stop = "refusal" if reason == "content_filter" else "length"
        if isinstance(usage := response.get("usage"), dict):
            self._usage = usage
        return out

    def finish(self) -> Answered | ProviderFailure:
        if not (self.ended or self._is_whole()):
            return incomplete_answer()
        return self._assembly.answered(self._stop, read_responses_usage(self._usage))

    def _is_whole(self) -> bool:
        """Whether all items are done and the last is no mere reasoning."""
        last = self._items[max(self._items)] if self._items else None
        return isinstance(last, (OpenText, OpenCall)) and set(self._items) == self._done


def read_responses_usage(usage: Mapping[str, Any]) -> TokenUsage:
    return TokenUsage(
        input_tokens=read_count(usage, "input_tokens"),
        output_tokens=read_count(usage, "output_tokens"),
        cache_read_tokens=read_count(usage, "input_tokens_details", "cached_tokens"),
        reasoning_tokens=read_count(usage, "output_tokens_details", "reasoning_tokens"),
    )


def _item_type(delta_kind: str) -> str:
    if "function_call" in delta_kind:
        return "function_call"
    return "reasoning" if "reasoning" in delta_kind else "message"


def _text_of(item: Mapping[str, Any]) -> str:
    parts = item.get("summary" if item.get("type") == "reasoning" else "content")
    texts = [
        part.get("text") or part.get("refusal")
        for part in (parts if isinstance(parts, list) else ())
        if isinstance(part, dict)
    ]
    return "".join(text for text in texts if isinstance(text, str))


RESPONSES_FACTORY = SdkFactory(
    OPENAI_RESPONSES, WireProtocol("/responses", responses_body, ResponsesReader)
)
