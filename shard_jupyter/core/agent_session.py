"""One agent: one conversation, one turn at a time. The native runtime (DESIGN §7).

Holds state and hands it to the turn loop; there is no loop in here.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, Literal

import anyio

from shard_jupyter.contracts.event_bus import Subscriber, Unsubscribe
from shard_jupyter.contracts.provider import Provider
from shard_jupyter.contracts.runtime import RuntimeCapabilities, SteerReply
from shard_jupyter.core.calls.call_permission import save_grants
from shard_jupyter.core.calls.wire_fitness import unfit_reason
from shard_jupyter.core.limits.pricing import Price
from shard_jupyter.core.lineage.last_choices import find_last_choices
from shard_jupyter.core.permissions.pending_requests import Resolved, RuleRefused
from shard_jupyter.core.turn import AgentParts, Turn, TurnOptions
from shard_jupyter.core.turn_loop import run_turn
from shard_jupyter.core.turn_state import TurnState
from shard_jupyter.errors import AgentBusy, AgentClosed, CommandError, UsageError
from shard_jupyter.store.surrogates import clean_text
from shard_jupyter.types.decisions import AskSetting, KeepScope, Rule
from shard_jupyter.types.events import ModeChanged, ModelSwitched
from shard_jupyter.types.ids import ID_PATTERN, new_id
from shard_jupyter.types.refusals import Refusal
from shard_jupyter.types.turns import TurnResult
from shard_jupyter.types.usage import UsageRecord, UsageTotals
from shard_jupyter.types.wire_model import Unknown

UsageSink = Callable[[tuple[UsageRecord, ...]], Awaitable[None]]


class AgentSession:
    """Made by `bootstrap.assemble_agent`; whoever called that closes it."""

    name = "native"

    def __init__(self, parts: AgentParts, keep_usage: UsageSink | None = None) -> None:
        self._parts = parts
        self._keep_usage = keep_usage
        self._turn: Turn | None = None
        self._idle = anyio.Event()
        self._idle.set()
        self._closed = False
        self._releasing = anyio.Lock()
        self._released = False

    @property
    def parts(self) -> AgentParts:
        return self._parts

    @property
    def capabilities(self) -> RuntimeCapabilities:
        modes = tuple(self._parts.modes.modes)
        return RuntimeCapabilities(steer=True, interrupt=True, resume=True, usage=True, modes=modes)

    @property
    def active_turn(self) -> str | None:
        return self._turn.turn_id if self._turn else None

    async def check_availability(self) -> Refusal | None:
        return self._parts.provider.route.refusal

    async def prompt(
        self,
        text: str,
        *,
        turn_id: str | None = None,
        timeout_seconds: float | None = None,
        options: TurnOptions | None = None,
    ) -> TurnResult:
        """Run one turn; see `contracts/runtime.py`. After `timeout_seconds` it is stopped."""
        self._refuse_when_closed()
        self._refuse_when_busy("Steer it, interrupt it, or wait for its end.")
        check_text(text, "The prompt")
        turn_id = turn_id or new_id("turn")
        if re.match(ID_PATTERN, turn_id) is None:
            raise UsageError(f"{turn_id!r} is no turn id.", next_step="Leave it out.")
        state = TurnState(turn_id, max_rounds=self._parts.settings.max_rounds)
        turn = self._turn = Turn(
            turn_id,
            self._parts,
            state,
            options=options or TurnOptions(),
            timeout_seconds=timeout_seconds,
        )
        idle = self._idle = anyio.Event()
        if timeout_seconds is not None:
            turn.scope.deadline = anyio.current_time() + timeout_seconds
        try:
            return await run_turn(turn, text)
        finally:
            # At once, not behind a wait: clients were told that it is idle.
            self._turn = None
            try:
                await self._write_usage(turn)
            finally:
                idle.set()

    async def _write_usage(self, turn: Turn) -> None:
        if self._keep_usage and turn.records:
            with anyio.CancelScope(shield=True):
                await self._keep_usage(tuple(turn.records))

    async def steer(self, turn_id: str, text: str) -> SteerReply:
        check_text(text, "The text")
        return await self._parts.steers.steer(turn_id, text)

    async def interrupt(self, turn_id: str | None = None) -> bool:
        turn = self._turn
        if turn is None or (turn_id is not None and turn_id != turn.turn_id):
            return False
        idle = self._idle
        turn.interrupt()
        await idle.wait()
        return True

    async def resume(self) -> int:
        """Take up the stored conversation; see `contracts/runtime.py`.

        Raises:
            AgentBusy: a turn runs.
        """
        self._refuse_when_busy("It is part of the conversation already.")
        self._parts.transcript.rebuild()
        return len(self._parts.transcript.messages)

    def usage(self) -> UsageTotals:
        return self._parts.totals

    def subscribe(self, subscriber: Subscriber) -> Unsubscribe:
        return self._parts.bus.subscribe(subscriber)

    def set_mode(self, name: str) -> None:
        """Change the mode from the next model call on.

        A call that waits is judged by the old and the new mode, and the stricter counts.

        Raises:
            UnknownMode: there is no such mode.
            AgentClosed: after `aclose`.
        """
        self._refuse_when_closed()
        old, new = self._parts.modes.switch(name)
        if old is not new:
            change = ModeChanged(
                agent_id=self._parts.agent_id, old_mode=old.name, new_mode=new.name
            )
            self._record_mode(old.name, new.name)
            self._parts.bus.emit(change)

    def _record_mode(self, old: str, new: str) -> None:
        changed = {"old_mode": old, "new_mode": new}
        self._parts.transcript.record_checkpoint("mode", changed)

    def keep_mode(self) -> None:
        """Write the mode down, unless the log says it: who goes on later goes on in it."""
        name = self._parts.modes.current.name
        last = find_last_choices(self._parts.transcript.branch()).mode
        if last != name:
            self._record_mode(last, name)

    async def switch_model(
        self, provider: Provider, price: Price | None, *, ask: AskSetting | None = None
    ) -> None:
        """Answer with another model from the next prompt on; the old provider is closed.

        Takes over `provider`, unless it raises one of these. `ask`: who decides from then on.

        Raises:
            AgentBusy: a turn runs.
            AgentClosed: after `aclose`.
            UsageError: the budget is in money, and the model has no price.
        """
        self._refuse_when_closed()
        self._refuse_when_busy("Switch the model when it has ended.")
        if self._parts.settings.budget.usd is not None and not (price and price.is_complete):
            raise UsageError(
                f"The budget is in money, and {provider.route.model_id!r} has no price.",
                next_step="Set one, or choose another model.",
            )
        old, self._parts.provider, self._parts.price = self._parts.provider, provider, price
        if ask is not None:
            self._parts.settings = replace(self._parts.settings, ask=ask)
        names = (old.route.model_id, provider.route.model_id)
        self._parts.transcript.record_checkpoint(
            "model", dict(zip(("old_model", "new_model"), names, strict=True))
        )
        self._parts.bus.emit(
            ModelSwitched(agent_id=self._parts.agent_id, old_model=names[0], new_model=names[1])
        )
        with anyio.CancelScope(shield=True):
            await old.aclose()

    def answer_permission(
        self,
        request_id: str,
        decision: Literal["allow", "allow_always", "deny"],
        *,
        by: str,
        rule: Rule | None = None,
        keep: KeepScope = "session",
        note: str = "",
        arguments: dict[str, Any] | None = None,
    ) -> bool:
        """Answer an open question; the first answer wins, a late one gives False.

        `rule` and `keep` go with `allow_always`.

        Raises:
            CommandError: `allow_always` without a rule that was offered (code `rule`), or
                arguments that are no JSON (code `schema`). The question stays open.
        """
        if arguments is not None and (reason := unfit_reason(Unknown(tag="", raw=arguments))):
            message = f"these arguments cannot be used: {reason}"
            raise CommandError(message, code="schema", command_id=request_id)
        outcome = self._parts.desk.answer(
            self._parts.agent_id,
            request_id,
            decision,
            rule,
            by,
            keep=keep,
            note=clean_text(note),
            arguments=arguments,
        )
        if isinstance(outcome, RuleRefused):
            raise outcome.as_error(request_id)
        return isinstance(outcome, Resolved)

    async def aclose(self) -> None:
        """Interrupt what runs and let go of everything. Idempotent; not cut by cancellation."""
        self._closed = True
        with anyio.CancelScope(shield=True):
            await self.interrupt()
            await self._idle.wait()
            async with self._releasing:
                await self._release()

    async def _release(self) -> None:
        if self._released:
            return
        try:
            await save_grants(self._parts)
            await self._parts.provider.aclose()
        finally:
            await self._parts.sandbox.aclose()
            await self._parts.transcript.aclose()
        self._released = True

    def _refuse_when_closed(self) -> None:
        if self._closed:
            raise AgentClosed("This agent was closed.", next_step="Open a new one.")

    def _refuse_when_busy(self, next_step: str) -> None:
        if self._turn is not None:
            raise AgentBusy("A turn is running.", next_step=next_step)


def check_text(text: str, what: str) -> None:
    """Refuse text that no log, client or provider can carry.

    Raises:
        UsageError: it says nothing, or holds half of a surrogate pair.
    """
    if not text.strip():
        raise UsageError(f"{what} is empty.", next_step="Say what is to be done.")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise UsageError(
            f"{what} holds a lone surrogate at position {error.start}.",
            next_step="Remove that character.",
        ) from None
