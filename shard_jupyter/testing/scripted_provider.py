"""A provider that says what a test wrote down, one step for each request.

ScriptedProvider([say("Reading.") + call("read", path="a.py"), say("Done."), hang()])
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import anyio
import anyio.lowlevel

from shard_jupyter.contracts.provider import (
    Answered,
    ArgumentsDelta,
    Failed,
    FailureKind,
    ProviderEvent,
    ProviderFailure,
    ProviderNotice,
    ProviderRequest,
    RouteInfo,
    StopReason,
    TextDelta,
    ThinkingDelta,
)
from shard_jupyter.errors import Bug
from shard_jupyter.types.content import ContentBlock, TextBlock, ThinkingBlock, ToolCallBlock
from shard_jupyter.types.ids import new_id
from shard_jupyter.types.messages import Message
from shard_jupyter.types.usage import TokenUsage

ROUTE = "scripted:test"
_RETRYABLE: frozenset[FailureKind] = frozenset(
    {"rate_limit", "overloaded", "server", "network", "cut"}
)
_UNCOUNTED = TokenUsage()


@dataclass(frozen=True)
class Step:
    """One answer. `+` joins two into one; notices come first, a failure or a hang last."""

    blocks: tuple[ContentBlock, ...] = ()
    stop: StopReason | None = None
    tokens: TokenUsage = _UNCOUNTED
    failure: ProviderFailure | None = None
    hangs: bool = False
    notices: tuple[ProviderNotice, ...] = ()

    def __add__(self, other: Step) -> Step:
        return Step(
            blocks=self.blocks + other.blocks,
            stop=other.stop or self.stop,
            tokens=self.tokens if other.tokens == _UNCOUNTED else other.tokens,
            failure=other.failure or self.failure,
            hangs=self.hangs or other.hangs,
            notices=self.notices + other.notices,
        )


ScriptLine = Step | Callable[[ProviderRequest], Step]


def say(text: str, *, stop: StopReason | None = None, tokens: TokenUsage = _UNCOUNTED) -> Step:
    return Step(blocks=(TextBlock(text=text),), stop=stop, tokens=tokens)


def think(text: str) -> Step:
    return Step(blocks=(ThinkingBlock(text=text, route=ROUTE),))


def call(name: str, /, **arguments: Any) -> Step:  # noqa: ANN401 - whatever the tool takes
    """Call a tool. Every time the step is played, the call gets a new id."""
    return Step(blocks=(ToolCallBlock(call_id="call-to-be-made", name=name, arguments=arguments),))


def recovered_call(name: str, /, **arguments: Any) -> Step:  # noqa: ANN401 - whatever the tool takes
    """Call a tool, in a way that had to be read from the text of the answer."""
    (block,) = call(name, **arguments).blocks
    return Step(blocks=(block.model_copy(update={"recovered": True}),))


def tell(code: str, message: str) -> Step:
    """Let a person know something before the answer comes."""
    return Step(notices=(ProviderNotice(code=code, message=message),))


def calls(*steps: Step) -> Step:
    """Several calls in one message."""
    return Step(blocks=tuple(block for step in steps for block in step.blocks))


def fail(kind: FailureKind, message: str = "", *, retry_after_seconds: float | None = None) -> Step:
    """Fail. After `say("half") +` the failure comes in the middle of an answer."""
    failure = ProviderFailure(
        kind=kind,
        message=message or f"scripted {kind}",
        retryable=kind in _RETRYABLE,
        retry_after_seconds=retry_after_seconds,
    )
    return Step(failure=failure)


def hang() -> Step:
    """Never end, until the request is cancelled."""
    return Step(hangs=True)


class ScriptedProvider:
    """Implements `contracts.provider.Provider`. No routing id leads here.

    Attributes:
        requests: every request that came, in order.
        closed: whether `aclose` was called.
    """

    def __init__(
        self,
        script: Iterable[ScriptLine],
        *,
        context_window: int | None = None,
        asks_every_call: bool = False,
        model_id: str = ROUTE,
        chunk: int = 8,
    ) -> None:
        self._script = list(script)
        self._route = RouteInfo(
            model_id=model_id,
            cloud=False,
            context_window=context_window,
            asks_every_call=asks_every_call,
        )
        self._chunk = chunk
        self._hanging = anyio.Event()
        self.requests: list[ProviderRequest] = []
        self.closed = False

    @property
    def route(self) -> RouteInfo:
        return self._route

    @property
    def remaining(self) -> int:
        return len(self._script)

    async def wait_until_hanging(self) -> None:
        """Return as soon as a `hang()` has been reached."""
        await self._hanging.wait()

    async def aclose(self) -> None:
        self.closed = True

    async def stream(self, request: ProviderRequest) -> AsyncGenerator[ProviderEvent, None]:
        """Play the next step.

        Raises:
            Bug: there is none.
        """
        self.requests.append(request)
        if not self._script:
            said = request.messages[-1].text if request.messages else ""
            raise Bug(f"the script ended before request {len(self.requests)} ({said[:80]!r})")
        line = self._script.pop(0)
        step = line if isinstance(line, Step) else line(request)
        blocks = tuple(_with_new_id(block) for block in step.blocks)
        await anyio.lowlevel.checkpoint()
        for notice in step.notices:
            yield notice
        for delta in _deltas(blocks, self._chunk):
            yield delta
        if step.hangs:
            self._hanging.set()
            await anyio.sleep_forever()
        yield (
            Failed(failure=step.failure) if step.failure else _answer(replace(step, blocks=blocks))
        )


def _with_new_id(block: ContentBlock) -> ContentBlock:
    if isinstance(block, ToolCallBlock):
        return block.model_copy(update={"call_id": new_id("call")})
    return block


def _deltas(blocks: Iterable[ContentBlock], chunk: int) -> Iterable[ProviderEvent]:
    for block in blocks:
        if isinstance(block, ToolCallBlock):
            text = json.dumps(block.arguments, ensure_ascii=False)
            yield ArgumentsDelta(call_id=block.call_id, tool=block.name, text=text)
        elif isinstance(block, (TextBlock, ThinkingBlock)):
            delta = TextDelta if isinstance(block, TextBlock) else ThinkingDelta
            for start in range(0, len(block.text), chunk):
                yield delta(text=block.text[start : start + chunk])


def _answer(step: Step) -> Answered:
    message = Message(role="assistant", content=step.blocks)
    stop = step.stop or ("tool_calls" if message.tool_calls else "end")
    return Answered(message=message, stop_reason=stop, tokens=step.tokens)
