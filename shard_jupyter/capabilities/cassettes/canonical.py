"""A request in the form in which it is recorded and looked up. Pure.

Only what the model is told counts: not the model's name, not the limit on its answer, no id, no
signature. Each message is named by a hash over itself and all before it, so that a conversation
that grows is written once.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from shard_jupyter.capabilities.cassettes.placeholders import (
    Numbering,
    Placeholders,
    map_strings,
)
from shard_jupyter.contracts.provider import ProviderRequest
from shard_jupyter.types.content import (
    ContentBlock,
    ImageBlock,
    ResultPart,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
)
from shard_jupyter.types.messages import Message

Json = dict[str, Any]


@dataclass(frozen=True)
class CanonicalRequest:
    """`chain` has one ref a message; the last one, `system` and `tools` are the key."""

    system: str
    tools: list[Json]
    messages: list[Json]
    chain: list[str]

    @property
    def key(self) -> tuple[str, str, str]:
        return ref_of(self.system), ref_of(self.tools), self.chain[-1] if self.chain else ""


def canonical_request(
    request: ProviderRequest, placeholders: Placeholders, numbering: Numbering
) -> CanonicalRequest:
    messages = [canonical_message(m, placeholders, numbering) for m in request.messages]
    chain: list[str] = []
    for message in messages:
        chain.append(chained_ref(chain[-1] if chain else "", message))
    # Numbered apart: the same prompt keeps its ref however long the conversation is.
    apart = Numbering()
    tools = [tool.model_dump(mode="json") for tool in request.tools]
    return CanonicalRequest(
        system=placeholders.hide(request.system, apart),
        tools=map_strings(tools, lambda text: placeholders.hide(text, apart)),
        messages=messages,
        chain=chain,
    )


def canonical_message(message: Message, placeholders: Placeholders, numbering: Numbering) -> Json:
    def plain(block: ContentBlock) -> Json:
        hidden = map_strings(_plain_fields(block), lambda text: placeholders.hide(text, numbering))
        named: Json = {}
        if isinstance(block, ToolCallBlock):
            named["call"] = numbering.braced(block.call_id, "call")
        elif isinstance(block, ToolResultBlock):
            named["result"] = numbering.braced(block.call_id, "call")
        return {**named, **hidden}

    return {"role": message.role, "content": [plain(block) for block in message.content]}


def read_answer(
    recorded: Json, placeholders: Placeholders, numbering: Numbering, route: str
) -> Message:
    """Make a recorded assistant message one of this run: new call ids, this run's paths.

    Raises:
        KeyError, TypeError, ValueError: the record is not of the form that is written.
    """
    shown = map_strings(recorded["content"], lambda text: placeholders.show(text, numbering))
    return Message(role="assistant", content=tuple(_read_block(block, route) for block in shown))


def ref_of(value: object) -> str:
    return hashlib.sha256(dump(value).encode()).hexdigest()[:16]


def chained_ref(before: str, message: Json) -> str:
    return ref_of([before, message])


def dump(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def _plain_fields(block: ContentBlock | ResultPart) -> Json:
    """All of a block but its call id, which is numbered whatever its form."""
    if isinstance(block, TextBlock):
        return {"text": block.text}
    if isinstance(block, ThinkingBlock):
        return {"thinking": block.text}
    if isinstance(block, ImageBlock):
        return {"image": block.sha256, "media_type": block.media_type, "size": block.size_bytes}
    if isinstance(block, ToolCallBlock):
        return _call_fields(block)
    if isinstance(block, ToolResultBlock):
        out: Json = {"tool": block.name, "content": [_plain_fields(part) for part in block.content]}
        return {**out, "is_error": True} if block.is_error else out
    return {"unknown": block.raw}


def _call_fields(block: ToolCallBlock) -> Json:
    out: Json = {"tool": block.name, "arguments": block.arguments}
    if block.arguments_error:
        out["arguments_error"] = block.arguments_error
    if block.recovered:
        out["recovered"] = True
    return out


def _read_block(block: Json, route: str) -> ContentBlock:
    if "call" in block:
        return ToolCallBlock(
            call_id=block["call"],
            name=block["tool"],
            arguments=block["arguments"],
            arguments_error=block.get("arguments_error", ""),
            recovered=block.get("recovered", False),
        )
    if "thinking" in block:
        return ThinkingBlock(text=block["thinking"], route=route)
    return TextBlock(text=block["text"])
