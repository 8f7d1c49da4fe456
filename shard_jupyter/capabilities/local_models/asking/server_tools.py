"""Asks a larger model by the server's own way of calling tools, through an OpenAI-compatible provider.

What differs from asking any such server: schemas are made simple, a call that came as text is
recovered, and a prompt whose front was dropped is noticed. No `tool_choice` is ever sent: local
servers take it and do not keep to it.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing

from shard_jupyter.capabilities.local_models.asking.prompt_count import find_cut, least_tokens
from shard_jupyter.capabilities.local_models.asking.simple_schema import simplify_tool
from shard_jupyter.capabilities.local_models.replies.salvage import may_be_call, recover_call
from shard_jupyter.capabilities.local_models.wire.local_failures import (
    CONTEXT_STEP,
    is_context_full,
)
from shard_jupyter.contracts.provider import (
    Answered,
    ArgumentsDelta,
    Failed,
    Provider,
    ProviderEvent,
    ProviderFailure,
    ProviderNotice,
    ProviderRequest,
    TextDelta,
)
from shard_jupyter.contracts.tool import ToolSpec
from shard_jupyter.types.content import ContentBlock, TextBlock, ThinkingBlock, ToolCallBlock
from shard_jupyter.types.ids import new_id
from shard_jupyter.types.messages import Message


class ServerToolsAsker:
    """One server's asker. Owns `chat`."""

    def __init__(self, route: str, chat: Provider) -> None:
        self._route = route
        self._chat = chat
        self._told_cut = False

    async def aclose(self) -> None:
        await self._chat.aclose()

    async def ask(self, request: ProviderRequest) -> AsyncGenerator[ProviderEvent, None]:
        """Ask once. Ends with `Answered` or `Failed`."""
        held = HeldText()
        async with aclosing(self._chat.stream(self._translate(request))) as events:
            async for event in events:
                if isinstance(event, TextDelta):
                    for shown in held.add(event.text):
                        yield shown
                elif isinstance(event, Failed):
                    yield Failed(failure=translate_failure(event.failure))
                elif isinstance(event, Answered):
                    if notice := self._find_cut(request, event):
                        yield notice
                    for end in self._finish(event, held, request.tools):
                        yield end
                else:
                    yield event

    def _translate(self, request: ProviderRequest) -> ProviderRequest:
        """Let reasoning go back to the server it came from, which the chat provider knows as its own."""
        messages = tuple(
            _relabel(message, self._route, self._chat.route.model_id)
            for message in request.messages
        )
        tools = tuple(simplify_tool(tool) for tool in request.tools)
        return request.model_copy(update={"messages": messages, "tools": tools})

    def _finish(
        self, answered: Answered, held: HeldText, tools: tuple[ToolSpec, ...]
    ) -> Iterator[ProviderEvent]:
        message = _relabel(answered.message, self._chat.route.model_id, self._route)
        call = None
        if answered.stop_reason == "end" and not message.tool_calls:
            call = recover_call(message.text, tools)
        if call is None:
            yield from held.flush()
            yield answered.model_copy(update={"message": message})
            return
        block = ToolCallBlock(
            call_id=new_id("call"), name=call.name, arguments=call.arguments, recovered=True
        )
        written = json.dumps(call.arguments, ensure_ascii=False)
        yield ArgumentsDelta(call_id=block.call_id, tool=block.name, text=written)
        others = [part for part in message.content if not isinstance(part, TextBlock)]
        message = message.model_copy(update={"content": (*others, block)})
        yield answered.model_copy(update={"message": message, "stop_reason": "tool_calls"})

    def _find_cut(self, request: ProviderRequest, answered: Answered) -> ProviderNotice | None:
        told = find_cut(_least_of(request), answered.tokens.input_tokens)
        if not told or self._told_cut:
            return None
        self._told_cut = True
        return ProviderNotice(code="prompt_cut", message=told)


class HeldText:
    """Text that may still turn out to be a call. Shown text cannot be taken back."""

    def __init__(self) -> None:
        self._held = ""
        self._is_open = False

    def add(self, piece: str) -> Iterator[TextDelta]:
        self._held += piece
        self._is_open = self._is_open or not may_be_call(self._held)
        if self._is_open:
            yield from self.flush()

    def flush(self) -> Iterator[TextDelta]:
        if self._held:
            yield TextDelta(text=self._held)
        self._held = ""


def translate_failure(failure: ProviderFailure) -> ProviderFailure:
    """Find an overflow behind any wording; the network is never at fault on one machine."""
    if is_context_full(None, failure.message):
        return failure.model_copy(
            update={"kind": "context_full", "retryable": False, "next_step": CONTEXT_STEP}
        )
    if failure.kind in ("network", "auth", "not_found"):
        message = f"The local server: {failure.message}"
        return failure.model_copy(update={"kind": "server", "message": message, "retryable": True})
    return failure


def _relabel(message: Message, old: str, new: str) -> Message:
    content: tuple[ContentBlock, ...] = tuple(
        block.model_copy(update={"route": new})
        if isinstance(block, ThinkingBlock) and block.route == old
        else block
        for block in message.content
    )
    return message.model_copy(update={"content": content})


def _least_of(request: ProviderRequest) -> int:
    texts = [request.system, *(message.text for message in request.messages)]
    return sum(least_tokens(text) for text in texts)
