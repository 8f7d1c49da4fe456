"""Our messages as the Anthropic Messages API wants them, with its cache marks. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from shard_jupyter.capabilities.model_providers.wire.wire_content import Images, absent_image
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
_CACHE = {"type": "ephemeral"}
_MARKED_MESSAGES = 2
"""The end of this request, and the end of the one before it, where the cache is found again.
With system and tools that makes the four marks that the API allows."""
REDACTED = "redacted_thinking"


def anthropic_messages(
    messages: Sequence[Message], route: str, images: Images, history: WireHistory | None = None
) -> list[dict[str, Any]]:
    """Turns alternate, so neighbours with one role become one message."""

    def to_wire(message: Message, ids: dict[str, str]) -> Iterator[dict[str, Any]]:
        found = False
        for block in message.content:
            if (part := _part(block, route, ids, images)) is not None:
                found = True
                yield part
        if not found and message.role != "assistant":
            yield {"type": "text", "text": "(empty)"}

    out: list[dict[str, Any]] = []
    rows = (history or WireHistory()).convert(messages, images, _ALLOWED_ID, to_wire)
    for message, parts in rows:
        role = "assistant" if message.role == "assistant" else "user"
        if out and out[-1]["role"] == role:
            out[-1]["content"].extend(parts)
        elif parts:
            out.append({"role": role, "content": list(parts)})
    users = [message for message in out if message["role"] == "user"]
    for user in users[-_MARKED_MESSAGES:]:
        user["content"][-1] = {**user["content"][-1], "cache_control": _CACHE}
    return out


def anthropic_system(system: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": system, "cache_control": _CACHE}] if system.strip() else []


def anthropic_tools(tools: Sequence[ToolSpec]) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = [
        {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
        for tool in tools
    ]
    if out:
        out[-1]["cache_control"] = _CACHE
    return out


def _part(
    block: ContentBlock, route: str, ids: dict[str, str], images: Images
) -> dict[str, Any] | None:
    if isinstance(block, TextBlock):
        # The API refuses a text without a visible character.
        return {"type": "text", "text": block.text} if block.text.strip() else None
    if isinstance(block, ImageBlock):
        return _image(block, images)
    if isinstance(block, ToolCallBlock):
        return {
            "type": "tool_use",
            "id": ids[block.call_id],
            "name": block.name,
            "input": block.arguments,
        }
    if isinstance(block, ToolResultBlock):
        return _result(block, ids, images)
    if isinstance(block, ThinkingBlock) and block.route == route:
        return _thinking(block)
    return None


def _thinking(block: ThinkingBlock) -> dict[str, Any]:
    if block.vendor_data.get("type") == REDACTED:
        return dict(block.vendor_data)
    return {"type": "thinking", "thinking": block.text, "signature": block.signature}


def _result(block: ToolResultBlock, ids: dict[str, str], images: Images) -> dict[str, Any]:
    content = [
        {"type": "text", "text": part.text} if isinstance(part, TextBlock) else _image(part, images)
        for part in block.content
        if isinstance(part, ImageBlock) or (isinstance(part, TextBlock) and part.text.strip())
    ]
    out: dict[str, Any] = {
        "type": "tool_result",
        "tool_use_id": ids.get(block.call_id, block.call_id),
        "content": content,
    }
    return {**out, "is_error": True} if block.is_error else out


def _image(block: ImageBlock, images: Images) -> dict[str, Any]:
    encoded = images.get(block.sha256)
    if encoded is None:
        return {"type": "text", "text": absent_image(block)}
    source = {"type": "base64", "media_type": block.media_type, "data": encoded}
    return {"type": "image", "source": source}
