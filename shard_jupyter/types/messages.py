"""Messages as a provider sees them."""

from __future__ import annotations

from typing import Literal

from shard_jupyter.types.content import ContentBlock, TextBlock, ToolCallBlock
from shard_jupyter.types.wire_model import KeptModel

Role = Literal["user", "assistant", "tool"]


class Message(KeptModel):
    """One message. A `tool` message holds the results of one assistant message, in call order."""

    role: Role
    content: tuple[ContentBlock, ...] = ()

    @property
    def text(self) -> str:
        """All text blocks, joined without a separator."""
        return "".join(block.text for block in self.content if isinstance(block, TextBlock))

    @property
    def tool_calls(self) -> tuple[ToolCallBlock, ...]:
        return tuple(block for block in self.content if isinstance(block, ToolCallBlock))


def user_text(text: str) -> Message:
    return Message(role="user", content=(TextBlock(text=text),))
