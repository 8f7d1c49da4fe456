"""`Shard`: an agent in this process (Shard §2).

async with Shard(cwd=".", model="openai:…") as agent:
    result = await agent.prompt("add a test for parse()")
    print(result.text)
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from weakref import WeakSet

import anyio
import anyio.to_thread

from shard_jupyter.capabilities.cassettes.cassette import CassetteWriter
from shard_jupyter.capabilities.cassettes.shelf import CassetteShelf
from shard_jupyter.contracts.event_bus import Subscriber, Unsubscribe
from shard_jupyter.contracts.provider import Provider
from shard_jupyter.contracts.runtime import SteerReply
from shard_jupyter.core.agent_session import AgentSession
from shard_jupyter.core.bootstrap import assemble_agent
from shard_jupyter.core.event_bus import EventQueue, LocalEventBus
from shard_jupyter.core.extensions.host import ExtensionHost
from shard_jupyter.core.limits.budget import Budget
from shard_jupyter.core.system_clock import SystemClock
from shard_jupyter.core.turn import TurnOptions
from shard_jupyter.errors import AgentClosed, StorageError, UsageError, UserError
from shard_jupyter.surfaces.composition import install_bundled
from shard_jupyter.surfaces.conversation.outcome import raise_for_outcome
from shard_jupyter.surfaces.sdk.approvals import ApprovalCaller, OnApproval
from shard_jupyter.surfaces.sdk.assembly import (
    Options,
    Plan,
    make_plan,
    open_provider,
    read_last_choices,
    write_usage,
)
from shard_jupyter.surfaces.sdk.limits import check_timeout, read_budget
from shard_jupyter.surfaces.sdk.recording import check_record, record_into
from shard_jupyter.surfaces.sdk.who_decides import check_ask, choose_ask
from shard_jupyter.types.decisions import AskSetting
from shard_jupyter.types.events import Notice
from shard_jupyter.types.turns import TurnResult
from shard_jupyter.types.usage import UsageRecord, UsageTotals


class Shard:
    """One agent and its conversation. Use it as an async context manager.

    Args:
        cwd: the workspace; default: the current folder. Tools are judged against it.
        model: a routing id such as `anthropic:…`; default: the configured one.
        mode: `build` (default) or `plan`.
        ask: who decides what no rule covers: `inline` (the `on_approval` callback, or another
            subscriber that answers), `deny`, `rules` (denied unless a rule allows it), `yes`
            (allowed unless a rule denies it) or `recorded` (as `rules`, and what a person answered
            when the cassette was recorded counts again). Default: `recorded` for a model
            `replay:…`, else as `headless_policy` in the configuration says, which is `rules` if
            nothing else is set.
        on_approval: called for each question when `ask` is `inline`; default ask is then `inline`.
        session: id of a stored session to go on with; default: a new one. It goes on in the mode
            and with the model that it was used with last, unless others are given.
        budget: tokens or money for the life of this object, `Budget` or text such as `200k`.
        record: file to record a cassette into, all the life of this object.
        shelf: the cassettes that this process records. Agents that share one record to the same
            file one after the other; default: one for this agent alone.
        provider: answer with this provider instead of a routed model (tests, embedding).
        trust_project: read the project's own configuration and let its allow rules count, as long
            as this object is open. Its deny and ask rules count in any case.
        seen_from: folder from which a relative path in `replay:…` is seen; default: that of this
            process, whatever `cwd` is.
        overrides: settings by dotted key, above every file and the environment.
        environ: the environment to read; default: that of this process.
    """

    def __init__(
        self,
        *,
        cwd: Path | str | None = None,
        model: str | None = None,
        mode: str | None = None,
        ask: AskSetting | None = None,
        on_approval: OnApproval | None = None,
        session: str | None = None,
        budget: Budget | str | None = None,
        record: Path | str | None = None,
        shelf: CassetteShelf | None = None,
        provider: Provider | None = None,
        trust_project: bool = False,
        seen_from: Path | None = None,
        overrides: Mapping[str, Any] | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self._options = Options(
            cwd=Path(cwd) if cwd is not None else Path.cwd(),
            environ=dict(os.environ if environ is None else environ),
            model=model,
            mode=mode,
            shelf=shelf or CassetteShelf(),
            ask=ask,
            has_callback=on_approval is not None,
            session=session,
            budget=budget,
            record=Path(record) if record is not None else None,
            trust_project=trust_project,
            seen_from=seen_from,
            overrides=overrides,
        )
        self._given_provider = provider
        self._provider = provider
        self._on_approval = on_approval
        self._bus = LocalEventBus()
        self._host = ExtensionHost()
        self._queues: WeakSet[EventQueue] = WeakSet()
        self._was_entered = False
        self._session: AgentSession | None = None
        self._approvals: ApprovalCaller | None = None
        self._plan: Plan | None = None

    async def __aenter__(self) -> Self:
        """Open the agent.

        Raises:
            UserError: a wrong model, mode, folder, session or configuration.
            StorageError: the session cannot be opened.
        """
        if self._was_entered:
            raise UsageError("This Shard was used before.", next_step="Make a new one.")
        self._was_entered = True
        try:
            await self._open()
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self.aclose()
            raise
        return self

    async def _open(self) -> None:
        await install_bundled(self._host)
        snapshot = self._host.snapshot()
        last = await read_last_choices(self._options)
        self._plan = plan = await anyio.to_thread.run_sync(
            make_plan, self._options, snapshot, self._given_provider, last
        )
        self._bus.subscribe(self._host.handle_event)
        self._provider = await open_provider(plan, plan.model_id, self._given_provider)
        self._session = await assemble_agent(
            plan.spec,
            snapshot,
            provider=self._provider,
            bus=self._bus,
            clock=SystemClock(),
            keep_usage=self._keep_usage if plan.usage_log else None,
        )
        if self._options.is_mode_given:
            self._session.keep_mode()
        if self._on_approval is not None:
            self._approvals = ApprovalCaller(self._session, self._on_approval, by="sdk")
            self._bus.subscribe(self._approvals.handle_event)
        for notice in plan.notices:
            self._bus.emit(notice)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    @property
    def session(self) -> AgentSession:
        """The agent session itself.

        Raises:
            AgentClosed: outside of `async with`.
        """
        if self._session is None:
            raise AgentClosed("The agent is not open.", next_step="Use `async with Shard(…)`.")
        return self._session

    @property
    def session_id(self) -> str:
        return self.session.parts.transcript.session_id

    @property
    def model(self) -> str:
        return self.session.parts.model_id

    @property
    def mode(self) -> str:
        return self.session.parts.modes.current.name

    async def prompt(
        self,
        text: str,
        *,
        check: bool = True,
        timeout_seconds: float | None = None,
        turn_id: str | None = None,
        ask: AskSetting | None = None,
        budget: Budget | str | None = None,
        record: Path | str | None = None,
    ) -> TurnResult:
        """Run one turn. `ask`, `budget` and `record` are for it alone.

        Args:
            text: the prompt, any text.
            check: raise unless the work was done.
            timeout_seconds: after which the turn is stopped.
            turn_id: the id that it gets; default: a new one.
            ask: who decides in place of whoever does else. `inline` needs no callback: any
                subscriber may answer.
            budget: what the turn itself may use; that of the agent holds besides.
            record: file to record the turn into, after what was recorded to it before.

        Raises:
            TurnFailed: with `check`, unless the turn completed and no call was denied because
                nobody could be asked. Its `result` holds what there is.
            UsageError: an empty prompt, one that is no valid Unicode, or no time; an option that
                cannot be used. Nothing has happened then.
            AgentClosed: outside of `async with`.
            AgentBusy: a turn runs.
            StorageError: it could not be written down.
        """
        check_timeout(timeout_seconds)
        writer = await self._take_writer(Path(record)) if record is not None else None
        # Nothing waits from here to the start of the turn: what was checked is what runs.
        result = await self.session.prompt(
            text,
            turn_id=turn_id,
            timeout_seconds=timeout_seconds,
            options=self._make_turn_options(ask, budget, writer),
        )
        if check:
            raise_for_outcome(result)
        return result

    async def steer(self, text: str) -> SteerReply:
        """Put text into the running turn; a conflict when none runs."""
        turn_id = self.session.active_turn
        if turn_id is None:
            return SteerReply(status="conflict", turn_id="", reason="No turn is running.")
        return await self.session.steer(turn_id, text)

    async def interrupt(self) -> bool:
        """Stop the running turn within 2 s; False when none runs."""
        return await self.session.interrupt()

    def set_mode(self, name: str) -> None:
        self.session.set_mode(name)

    async def switch_model(self, model: str) -> None:
        """Answer with another model from the next prompt on.

        Raises:
            UserError: the model cannot be used; all is as before.
            AgentBusy: a turn runs.
        """
        session, plan, options = self.session, self._open_plan, self._options
        if model == self.model:
            return
        check_ask(options.ask, model)
        await anyio.to_thread.run_sync(check_record, options.record, model)
        provider = await open_provider(plan, model)
        ask = choose_ask(
            options.ask,
            model,
            has_callback=options.has_callback,
            headless_policy=plan.settings.headless_policy,
        )
        try:
            await session.switch_model(provider, plan.settings.find_price(model), ask=ask)
        except UserError:
            await provider.aclose()
            raise

    def usage(self) -> UsageTotals:
        return self.session.usage()

    def subscribe(self, subscriber: Subscriber) -> Unsubscribe:
        """Call `subscriber` with every event, on the event loop."""
        return self._bus.subscribe(subscriber)

    def events(self) -> EventQueue:
        """Events from now on, to be read with `async for`; they end when the agent is closed.

        What nobody reads waits in memory: close it, or use it in a `with`, when done.
        """
        queue = EventQueue().attach(self._bus)
        self._queues.add(queue)
        return queue

    async def aclose(self) -> None:
        """Stop what runs and let go of everything. Idempotent.

        Raises:
            StorageError: the last of it could not be written; all the rest is let go of.
        """
        try:
            if self._session is not None:
                await self._session.aclose()
            elif self._provider is not None:
                await self._provider.aclose()
        finally:
            with anyio.CancelScope(shield=True):
                if self._approvals is not None:
                    await self._approvals.aclose()
                await self._host.aclose()
            for queue in tuple(self._queues):
                queue.close()

    @property
    def _open_plan(self) -> Plan:
        assert self._plan is not None
        return self._plan

    async def _take_writer(self, record: Path) -> CassetteWriter:
        shelf, model = self._options.shelf, self.model
        await anyio.to_thread.run_sync(check_record, record, model)
        return await anyio.to_thread.run_sync(shelf.take_writer, record)

    def _make_turn_options(
        self, ask: AskSetting | None, budget: Budget | str | None, writer: CassetteWriter | None
    ) -> TurnOptions:
        parts = self.session.parts
        check_ask(ask, self.model)
        provider = None
        if writer is not None:
            provider = record_into(writer, parts.provider, self._open_plan.placeholders)
        return TurnOptions(
            ask=ask, budget=read_budget(budget, self.model, parts.price), provider=provider
        )

    async def _keep_usage(self, records: tuple[UsageRecord, ...]) -> None:
        plan = self._open_plan
        try:
            await write_usage(plan, records)
        except StorageError as error:
            message = f"The usage log could not be written: {error}."
            self._bus.emit(
                Notice(
                    agent_id=plan.spec.agent_id,
                    code="usage_log",
                    message=message,
                    tone="warn",
                )
            )
