"""Where a conversation stands, as a small model is told of it. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from shard_jupyter.types.content import ImageBlock, TextBlock, ToolResultBlock
from shard_jupyter.types.messages import Message

StepStatus = Literal["ok", "failed", "denied"]
MOST_CALLS = 2
"""Calls of a turn. After them the model may only answer."""
_MORE = re.compile(r"\b(and|then|next|after|afterwards|also)\b|[,;.!?]\s+\S|\n", re.IGNORECASE)
"""What joins two wishes. After the only wish is done, a small model would invent another call."""
_IMAGE = "(an image that this model cannot see)"


@dataclass(frozen=True)
class Step:
    """One call of the turn and what came of it."""

    name: str
    arguments: dict[str, Any]
    result: str
    status: StepStatus
    call_id: str = ""


@dataclass(frozen=True)
class Exchange:
    """One request and what has been done about it so far. `said`: text without a call."""

    request: str
    steps: tuple[Step, ...] = ()
    said: str = ""


@dataclass(frozen=True)
class Situation:
    """`earlier`: exchanges before the current one, oldest first."""

    current: Exchange
    earlier: tuple[Exchange, ...] = ()

    @property
    def last(self) -> Step | None:
        return self.current.steps[-1] if self.current.steps else None

    @property
    def may_call(self) -> bool:
        """False: the model may only answer, so that no turn goes round for ever."""
        steps = self.current.steps
        if steps and not _MORE.search(self.current.request.strip()):
            return False
        return len(steps) < MOST_CALLS and all(step.status == "ok" for step in steps)

    def has_done(self, name: str, arguments: dict[str, Any]) -> bool:
        """Whether this very call was made in the turn already."""
        return any((step.name, step.arguments) == (name, arguments) for step in self.current.steps)


def read_situation(messages: Sequence[Message]) -> Situation:
    """The last user message is the request; what a person steered in starts a new exchange."""
    exchanges: list[Exchange] = []
    for message in messages:
        if message.role == "user":
            exchanges.append(Exchange(_text_of(message.content)))
        elif exchanges:
            exchanges[-1] = _add(exchanges[-1], message)
    if not exchanges:
        return Situation(Exchange(""))
    return Situation(exchanges[-1], tuple(exchanges[:-1]))


def _add(exchange: Exchange, message: Message) -> Exchange:
    if message.role == "assistant":
        # Until its result comes: a call that was never answered counts as failed.
        new = (
            Step(call.name, call.arguments, "", "failed", call.call_id)
            for call in message.tool_calls
        )
        return replace(exchange, steps=(*exchange.steps, *new), said=exchange.said or message.text)
    results = {
        block.call_id: block for block in message.content if isinstance(block, ToolResultBlock)
    }
    return replace(exchange, steps=tuple(_answer(step, results) for step in exchange.steps))


def _answer(step: Step, results: Mapping[str, ToolResultBlock]) -> Step:
    result = results.get(step.call_id)
    if result is None:
        return step
    return replace(step, result=_text_of(result.content), status=_status_of(result))


def _status_of(result: ToolResultBlock) -> StepStatus:
    if result.is_denied:
        return "denied"
    return "failed" if result.is_error else "ok"


def _text_of(content: Sequence[object]) -> str:
    parts = [
        block.text if isinstance(block, TextBlock) else _IMAGE
        for block in content
        if isinstance(block, (TextBlock, ImageBlock))
    ]
    return "\n".join(parts)
