"""Our messages as the Responses API wants them. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from shard_jupyter.capabilities.model_providers.wire.wire_content import (
    Images,
    absent_image,
    data_url,
    joined_text,
)
from shard_jupyter.capabilities.model_providers.wire.wire_history import WireHistory
from shard_jupyter.contracts.tool import ToolSpec
from shard_jupyter.types.content import (
    ContentBlock,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
)
from shard_jupyter.types.messages import Message

_ALLOWED_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


def responses_input(
    messages: Sequence[Message], route: str, images: Images, history: WireHistory | None = None
) -> list[dict[str, Any]]:
    def to_wire(message: Message, ids: dict[str, str]) -> Iterator[dict[str, Any]]:
        if message.role == "assistant":
            yield from _assistant(message, route, ids)
        elif message.role == "tool":
            yield from _results(message, ids, images)
        else:
            yield {"type": "message", "role": "user", "content": _parts(message.content, images)}

    rows = (history or WireHistory()).convert(messages, images, _ALLOWED_ID, to_wire)
    return [part for _, wire in rows for part in wire]


def responses_tools(tools: Sequence[ToolSpec]) -> list[dict[str, Any]]:
    return [
        {
            "type": "function",
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.input_schema,
            "strict": False,
        }
        for tool in tools
    ]


def _assistant(message: Message, route: str, ids: dict[str, str]) -> Iterator[dict[str, Any]]:
    """Yield one item a block, in their order: reasoning must precede what it led to."""
    for block in message.content:
        if isinstance(block, TextBlock) and block.text:
            content = [{"type": "output_text", "text": block.text, "annotations": []}]
            yield {"type": "message", "role": "assistant", "content": content}
        elif isinstance(block, ToolCallBlock):
            yield {
                "type": "function_call",
                "call_id": ids[block.call_id],
                "name": block.name,
                "arguments": json.dumps(block.arguments, ensure_ascii=False),
            }
        elif isinstance(block, ThinkingBlock) and block.route == route and block.vendor_data:
            yield {"type": "reasoning", "summary": [], **block.vendor_data}


def _results(message: Message, ids: dict[str, str], images: Images) -> Iterator[dict[str, Any]]:
    for block in message.content:
        if isinstance(block, ToolResultBlock):
            has_image = any(isinstance(part, ImageBlock) for part in block.content)
            yield {
                "type": "function_call_output",
                "call_id": ids.get(block.call_id, block.call_id),
                "output": _parts(block.content, images)
                if has_image
                else joined_text(block.content),
            }


def _parts(blocks: Sequence[ContentBlock], images: Images) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    for block in blocks:
        if isinstance(block, TextBlock):
            out.append({"type": "input_text", "text": block.text})
        elif isinstance(block, ImageBlock):
            url = data_url(block, images)
            out.append(
                {"type": "input_image", "image_url": url, "detail": "auto"}
                if url is not None
                else {"type": "input_text", "text": absent_image(block)}
            )
    return out
