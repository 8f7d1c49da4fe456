"""Our messages as chat completions want them. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from shard_jupyter.capabilities.model_providers.wire.wire_content import (
    Images,
    absent_image,
    data_url,
    images_of,
    joined_text,
)
from shard_jupyter.capabilities.model_providers.wire.wire_history import WireHistory
from shard_jupyter.contracts.tool import ToolSpec
from shard_jupyter.types.content import (
    ContentBlock,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
)
from shard_jupyter.types.messages import Message

# Some models are trained on their own ids (`functions.read:0`), so nearly all go back as they came.
_ALLOWED_ID = re.compile(r"[\x21-\x7e]{1,256}")
REASONING_FIELD = "field"
"""Key in `vendor_data`: the delta field that the reasoning came in, and goes back in."""


def chat_messages(
    system: str,
    messages: Sequence[Message],
    route: str,
    images: Images,
    history: WireHistory | None = None,
) -> list[dict[str, Any]]:
    def to_wire(message: Message, ids: dict[str, str]) -> Iterator[dict[str, Any]]:
        if message.role == "assistant":
            yield _assistant(message, route, ids)
        elif message.role == "tool":
            yield from _results(message, ids, images)
        else:
            yield {"role": "user", "content": _parts(message.content, images)}

    rows = (history or WireHistory()).convert(messages, images, _ALLOWED_ID, to_wire)
    out: list[dict[str, Any]] = [{"role": "system", "content": system}] if system else []
    for _, wire in rows:
        out.extend(wire)
    return out


def chat_tools(tools: Sequence[ToolSpec]) -> list[dict[str, Any]]:
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.input_schema,
            },
        }
        for tool in tools
    ]


def _assistant(message: Message, route: str, ids: dict[str, str]) -> dict[str, Any]:
    calls = [
        {
            "id": ids[call.call_id],
            "type": "function",
            "function": {
                "name": call.name,
                "arguments": json.dumps(call.arguments, ensure_ascii=False),
            },
        }
        for call in message.tool_calls
    ]
    if not calls:
        return {"role": "assistant", "content": message.text}
    out: dict[str, Any] = {"role": "assistant", "content": message.text or None}
    # Thinking models lose the thread on a turn with calls unless they get their reasoning back;
    # on other turns some servers refuse it.
    for block in message.content:
        if isinstance(block, ThinkingBlock) and block.route == route:
            field = str(block.vendor_data.get(REASONING_FIELD, "reasoning_content"))
            out[field] = out.get(field, "") + block.text
    return {**out, "tool_calls": calls}


def _results(message: Message, ids: dict[str, str], images: Images) -> Iterator[dict[str, Any]]:
    """Yield the results, then their images as a user message: a tool message takes only text."""
    for block in message.content:
        if isinstance(block, ToolResultBlock):
            text = joined_text(block.content)
            if not text and any(isinstance(part, ImageBlock) for part in block.content):
                text = "(an image, in the next message)"
            wire_id = ids.get(block.call_id, block.call_id)
            yield {"role": "tool", "tool_call_id": wire_id, "content": text}
    shown = list(images_of(message))
    if shown:
        yield {
            "role": "user",
            "content": _parts((TextBlock(text="Images of the results above:"), *shown), images),
        }


def _parts(blocks: Sequence[ContentBlock], images: Images) -> str | list[dict[str, Any]]:
    """Return plain text where there is nothing else: every server takes that."""
    if not any(isinstance(block, ImageBlock) for block in blocks):
        return joined_text(blocks)
    out: list[dict[str, Any]] = []
    for block in blocks:
        if isinstance(block, TextBlock):
            out.append({"type": "text", "text": block.text})
        elif isinstance(block, ImageBlock):
            url = data_url(block, images)
            out.append(
                {"type": "image_url", "image_url": {"url": url}}
                if url is not None
                else {"type": "text", "text": absent_image(block)}
            )
    return out
