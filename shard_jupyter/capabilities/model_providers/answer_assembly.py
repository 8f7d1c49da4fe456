"""Puts an answer together from the pieces of a stream. Pure but for the ids it is given.

Blocks keep the order in which they began. Every call gets an id of ours at once; what the vendor
called it is kept beside it for the wire only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from shard_jupyter.capabilities.model_providers.arguments import parse_arguments
from shard_jupyter.capabilities.model_providers.unicode_repair import (
    PieceMender,
    mend_json,
    mend_text,
)
from shard_jupyter.contracts.provider import (
    Answered,
    ArgumentsDelta,
    StopReason,
    TextDelta,
    ThinkingDelta,
)
from shard_jupyter.types.content import TextBlock, ThinkingBlock, ToolCallBlock
from shard_jupyter.types.ids import new_id
from shard_jupyter.types.messages import Message
from shard_jupyter.types.usage import TokenUsage

MakeCallId = Callable[[], str]
new_call_id: MakeCallId = partial(new_id, "call")


class OpenText:
    """A text block being written."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._mender = PieceMender()

    @property
    def written(self) -> str:
        return mend_text("".join(self._pieces))

    @property
    def is_empty(self) -> bool:
        return not self._pieces

    def add(self, piece: str) -> TextDelta | None:
        self._pieces.append(piece)
        shown = self._mender.push(piece)
        return TextDelta(text=shown) if shown else None

    def block(self, route: str) -> TextBlock | None:
        del route
        return TextBlock(text=self.written) if self._pieces else None


class OpenThinking:
    """Reasoning being written. `signature` and `vendor_data` go back to the vendor unchanged."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._mender = PieceMender()
        self.signature = ""
        self.vendor_data: dict[str, Any] = {}

    @property
    def is_empty(self) -> bool:
        return not self._pieces

    def add(self, piece: str) -> ThinkingDelta | None:
        self._pieces.append(piece)
        shown = self._mender.push(piece)
        return ThinkingDelta(text=shown) if shown else None

    def block(self, route: str) -> ThinkingBlock | None:
        if not (self._pieces or self.signature or self.vendor_data):
            return None
        return ThinkingBlock(
            text=mend_text("".join(self._pieces)),
            route=route,
            signature=self.signature,
            vendor_data=mend_json(self.vendor_data),
        )


class OpenCall:
    """A call being written."""

    def __init__(self, call_id: str, name: str, vendor_id: str) -> None:
        self.call_id = call_id
        self.name = name
        self.vendor_id = vendor_id
        self._pieces: list[str] = []
        self._whole: object = None
        self._mender = PieceMender()

    @property
    def written(self) -> str:
        return "".join(self._pieces)

    @property
    def is_empty(self) -> bool:
        return not self._pieces and self._whole is None

    @property
    def has_whole(self) -> bool:
        return self._whole is not None

    def add(self, piece: object) -> ArgumentsDelta | None:
        """Take a piece of text, or the whole object where a server sends one."""
        if not isinstance(piece, str):
            self._whole = piece if piece is not None else self._whole
            return None
        if not piece:
            return None
        self._pieces.append(piece)
        shown = self._mender.push(piece)
        if not shown:
            return None
        return ArgumentsDelta(call_id=self.call_id, tool=mend_text(self.name), text=shown)

    def replace(self, whole: object) -> None:
        """Take the final arguments, which count more than their pieces."""
        if isinstance(whole, str):
            self._pieces, self._whole = [whole], None
        elif whole is not None:
            self._whole = whole

    def block(self, *, cut: bool) -> ToolCallBlock:
        # A piece beside a whole object means that they contradict; the text is what was streamed.
        raw = self._whole if self._whole is not None and not self._pieces else self.written
        arguments, error = parse_arguments(raw, cut=cut)
        if not self.name:
            error = "The call names no tool. The call was not run."
        return ToolCallBlock(
            call_id=self.call_id,
            name=mend_text(self.name),
            arguments={} if error else arguments,
            arguments_error=error,
            vendor_id=mend_text(self.vendor_id),
        )


OpenBlock = OpenText | OpenThinking | OpenCall


class AnswerAssembly:
    """The blocks of one answer, in the order in which they began."""

    def __init__(self, route: str, make_call_id: MakeCallId = new_call_id) -> None:
        self._route = route
        self._make_call_id = make_call_id
        self._open: list[OpenBlock] = []

    @property
    def calls(self) -> list[OpenCall]:
        return [block for block in self._open if isinstance(block, OpenCall)]

    def open_text(self) -> OpenText:
        block = OpenText()
        self._open.append(block)
        return block

    def open_thinking(self) -> OpenThinking:
        block = OpenThinking()
        self._open.append(block)
        return block

    def open_call(self, name: str, vendor_id: str) -> OpenCall:
        block = OpenCall(self._make_call_id(), name, vendor_id)
        self._open.append(block)
        return block

    def running_text(self) -> OpenText:
        """The text block that further text belongs to where the wire does not number blocks."""
        last = self._open[-1] if self._open else None
        return last if isinstance(last, OpenText) else self.open_text()

    def running_thinking(self) -> OpenThinking:
        last = self._open[-1] if self._open else None
        return last if isinstance(last, OpenThinking) else self.open_thinking()

    def answered(self, stop: StopReason, tokens: TokenUsage) -> Answered:
        """Close everything. Calls make it `tool_calls`, except at the length limit or a refusal."""
        last = self._open[-1] if self._open else None
        blocks = [
            open_block.block(cut=stop == "length" and open_block is last)
            if isinstance(open_block, OpenCall)
            else open_block.block(self._route)
            for open_block in self._open
        ]
        if stop in ("end", "tool_calls"):
            stop = "tool_calls" if self.calls else "end"
        content = tuple(block for block in blocks if block is not None)
        message = Message(role="assistant", content=content)
        return Answered(message=message, stop_reason=stop, tokens=tokens)


def read_count(usage: Mapping[str, Any], *path: str) -> int | None:
    """Return a number of tokens at `path`, None when the server does not tell one."""
    value: object = usage
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        return None
    return value
