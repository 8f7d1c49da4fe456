"""What a message is made of.

Every call and every result carries `call_id`; they are paired by it and never by position
(DESIGN §4). The id is ours; what a vendor called it stays in `vendor_id` and goes only back to
that vendor, because some servers give every call the same id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from shard_jupyter.types.ids import Id
from shard_jupyter.types.wire_model import KeptModel, Unknown, open_union


class TextBlock(KeptModel):
    kind: Literal["text"] = "text"
    text: str


class ThinkingBlock(KeptModel):
    """Reasoning. Sent back only to the `route` that produced it."""

    kind: Literal["thinking"] = "thinking"
    text: str
    route: str = ""
    """Provider prefix and model that wrote it, `anthropic:…`."""
    signature: str = ""
    vendor_data: dict[str, Any] = Field(default_factory=dict)
    """What the vendor needs to get back unchanged (ids, encrypted content)."""


class ImageBlock(KeptModel):
    """An image, by hash. The bytes lie in the blob folder beside the log."""

    kind: Literal["image"] = "image"
    media_type: str
    sha256: str
    size_bytes: int


class ToolCallBlock(KeptModel):
    """A call that the model asked for."""

    kind: Literal["tool_call"] = "tool_call"
    call_id: Id
    name: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    arguments_error: str = ""
    """Why the arguments could not be read. Not empty: the call is never run."""
    vendor_id: str = ""
    recovered: bool = False
    """Read from the model's text, not from a call on the wire. Never allowed without a person."""


class ToolResultBlock(KeptModel):
    """What came of a call, as the model reads it."""

    kind: Literal["tool_result"] = "tool_result"
    call_id: Id
    name: str
    content: tuple[ResultPart, ...] = ()
    is_error: bool = False
    is_denied: bool = False
    """It did not run: a rule or a person forbade it. Words of a result can only claim that."""


if TYPE_CHECKING:
    ResultPart = TextBlock | ImageBlock | Unknown
    ContentBlock = (
        TextBlock | ThinkingBlock | ImageBlock | ToolCallBlock | ToolResultBlock | Unknown
    )
else:
    ResultPart = open_union("kind", TextBlock, ImageBlock)
    ToolResultBlock.model_rebuild()
    ContentBlock = open_union(
        "kind", TextBlock, ThinkingBlock, ImageBlock, ToolCallBlock, ToolResultBlock
    )
