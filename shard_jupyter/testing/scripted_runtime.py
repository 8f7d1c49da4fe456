"""A second implementation of `Runtime`, without a model: answers come from a list.

It proves that the seam does not depend on our own loop, and stands in for a vendor's agent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import anyio
import anyio.lowlevel

from shard_jupyter.contracts.event_bus import Subscriber, Unsubscribe
from shard_jupyter.contracts.runtime import RuntimeCapabilities, SteerReply
from shard_jupyter.core.agent_session import check_text
from shard_jupyter.core.event_bus import LocalEventBus
from shard_jupyter.core.steering import SteerQueue
from shard_jupyter.errors import AgentBusy, AgentClosed, Bug
from shard_jupyter.types.events import (
    AgentEvent,
    Event,
    StatusEvent,
    SteerInjected,
    TurnEnd,
    TurnStart,
)
from shard_jupyter.types.ids import new_id
from shard_jupyter.types.refusals import Refusal
from shard_jupyter.types.turns import ErrorInfo, Outcome, TurnResult
from shard_jupyter.types.usage import UsageTotals

HANG = "\x00hang"
"""A scripted answer that never comes: the turn runs until it is steered or interrupted."""


class ScriptedRuntime:
    """Owned and closed by the test. `refusal` is what `check_availability` says."""

    name = "scripted"

    def __init__(self, answers: Sequence[str], refusal: Refusal | None = None) -> None:
        self.agent_id = new_id("agent")
        self.prompts: list[str] = []
        self._answers = list(answers)
        self._refusal = refusal
        self._bus = LocalEventBus()
        self._steers = SteerQueue()
        self._scope: anyio.CancelScope | None = None
        self._turn_id: str | None = None
        self._idle = anyio.Event()
        self._steered = anyio.Event()
        self._usage = UsageTotals()
        self._closed = False

    @property
    def capabilities(self) -> RuntimeCapabilities:
        return RuntimeCapabilities(steer=True, interrupt=True, resume=True, usage=True)

    @property
    def active_turn(self) -> str | None:
        return self._turn_id

    async def check_availability(self) -> Refusal | None:
        return self._refusal

    async def prompt(self, text: str, *, turn_id: str | None = None) -> TurnResult:
        if self._closed:
            raise AgentClosed("This agent was closed.")
        if self._turn_id is not None:
            raise AgentBusy("A turn is running.")
        check_text(text, "The prompt")
        self._turn_id = turn_id or new_id("turn")
        self._idle = anyio.Event()
        self._steered = anyio.Event()
        self._scope = anyio.CancelScope()
        self._steers.open_turn(self._turn_id)
        self.prompts.append(text)
        self._emit(TurnStart, prompt=text, model="scripted", mode="")
        try:
            return await self._run()
        finally:
            self._steers.close_turn()
            self._turn_id = None
            self._idle.set()

    async def _run(self) -> TurnResult:
        assert self._scope is not None
        answer = ""
        outcome: Outcome = "completed"
        try:
            with self._scope:
                answer = await self._answer()
            if self._scope.cancelled_caught:
                outcome = "interrupted"
        except anyio.get_cancelled_exc_class():
            self._finish("cancelled", "")
            raise
        except Bug:
            self._finish("failed", "")
            raise
        return self._finish(outcome, answer)

    async def _answer(self) -> str:
        if not self._answers:
            raise Bug("the scripted runtime has no answer left")
        answer = self._answers.pop(0)
        await anyio.lowlevel.checkpoint()
        if answer != HANG:
            return answer
        await self._steered.wait()
        taken: list[str] = []
        self._steers.drain(taken.append)
        for text in taken:
            self.prompts.append(text)
            self._emit(SteerInjected, entry_id=new_id("entry"), text=text)
        return f"steered: {' '.join(taken)}"

    def _finish(self, outcome: Outcome, text: str) -> TurnResult:
        self._usage = UsageTotals(
            model_calls=self._usage.model_calls + 1, unknown_calls=self._usage.unknown_calls + 1
        )
        error = None
        if outcome != "completed":
            error = ErrorInfo(code=outcome, message=f"The turn was {outcome}.")
        usage = UsageTotals(model_calls=1, unknown_calls=1)
        self._emit(TurnEnd, outcome=outcome, text=text, error=error, usage=usage)
        self._emit(StatusEvent, status="idle")
        assert self._turn_id is not None
        return TurnResult(
            turn_id=self._turn_id, outcome=outcome, text=text, error=error, usage=usage
        )

    async def steer(self, turn_id: str, text: str) -> SteerReply:
        check_text(text, "The text")
        if turn_id == self._turn_id:
            # Whoever waits runs when this has stood in line.
            self._steered.set()
        return await self._steers.steer(turn_id, text)

    async def interrupt(self, turn_id: str | None = None) -> bool:
        if self._turn_id is None or (turn_id is not None and turn_id != self._turn_id):
            return False
        assert self._scope is not None
        self._scope.cancel()
        await self._idle.wait()
        return True

    async def resume(self) -> int:
        return len(self.prompts)

    def usage(self) -> UsageTotals:
        return self._usage

    def subscribe(self, subscriber: Subscriber) -> Unsubscribe:
        return self._bus.subscribe(subscriber)

    async def aclose(self) -> None:
        self._closed = True
        await self.interrupt()

    def _emit(self, event: type[Event], **fields: Any) -> None:  # noqa: ANN401 - checked by the model
        made = event(agent_id=self.agent_id, turn_id=self._turn_id, **fields)
        self._bus.emit(cast(AgentEvent, made))
