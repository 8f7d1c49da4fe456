"""Carry one prompt through an agent: show its events, ask its questions, obey Ctrl-C.

The first Ctrl-C (or SIGTERM, or the end of the terminal) stops the turn in good order; before there is a turn it ends the
start. The second one leaves at once.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
import signal
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Protocol, Self

import anyio
import anyio.abc
import anyio.to_thread

from shard_jupyter.contracts.event_bus import Subscriber, Unsubscribe
from shard_jupyter.core.children.process_end import kill_all_descendants
from shard_jupyter.errors import ShardError
from shard_jupyter.surfaces.cli.event_printer import EventPrinter
from shard_jupyter.surfaces.cli.exit_codes import INTERRUPTED, exit_code
from shard_jupyter.surfaces.cli.run_request import RunRequest
from shard_jupyter.surfaces.cli.run_view import RunView
from shard_jupyter.surfaces.conversation.answer_dialog import Reply
from shard_jupyter.surfaces.conversation.question import DescribeRule
from shard_jupyter.surfaces.conversation.terminal_question import TerminalLines, ask_person
from shard_jupyter.surfaces.sdk.who_decides import plays_cassette
from shard_jupyter.types.decisions import AskSetting
from shard_jupyter.types.events import PermissionRequest
from shard_jupyter.types.turns import TurnResult

AskPerson = Callable[[PermissionRequest], Awaitable[Reply]]


class PromptedAgent(Protocol):
    """What this module needs of `Shard`. Events can be subscribed to before it is entered."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def subscribe(self, subscriber: Subscriber) -> Unsubscribe: ...

    @property
    def model(self) -> str: ...

    async def prompt(
        self,
        text: str,
        *,
        check: bool,
        timeout_seconds: float | None,
        ask: AskSetting | None,
    ) -> TurnResult: ...

    async def interrupt(self) -> bool: ...


MakeAgent = Callable[[AskPerson], PromptedAgent]


async def run_turn(
    request: RunRequest, view: RunView, make_agent: MakeAgent, describe_rule: DescribeRule
) -> int:
    """Run to the end and return the exit code.

    Raises:
        ShardError: the agent could not be opened, or the output could not be written.
    """
    result: TurnResult | None = None
    failure: ShardError | None = None
    async with anyio.create_task_group() as group:
        switch = StopSwitch(group)
        await group.start(switch.watch_signals)
        printer = EventPrinter(view, switch.stop_from_thread)
        agent = make_agent(Questioner(printer, describe_rule).ask)
        try:
            try:
                result = await _prompt(request, agent, printer, switch)
            finally:
                with anyio.CancelScope(shield=True):
                    await anyio.to_thread.run_sync(printer.close, result)
        except ShardError as error:
            # Taken out of the group, which would wrap it.
            failure = error
        group.cancel_scope.cancel()
    if failure is not None:
        raise failure
    return INTERRUPTED if result is None else exit_code(result)


async def _prompt(
    request: RunRequest, agent: PromptedAgent, printer: EventPrinter, switch: StopSwitch
) -> TurnResult:
    agent.subscribe(printer.put)
    async with agent:
        switch.agent = agent
        # The terminal alone is no reason to ask what the cassette can answer.
        recorded = request.ask is None and plays_cassette(agent.model)
        result = await agent.prompt(
            request.prompt,
            check=False,
            timeout_seconds=request.timeout_seconds,
            ask="recorded" if recorded else None,
        )
        switch.is_over = True
    return result


class Questioner:
    """Puts questions to the person, one at a time, while nothing else is shown."""

    def __init__(
        self,
        printer: EventPrinter,
        describe_rule: DescribeRule,
        open_terminal: Callable[[], TerminalLines] = TerminalLines.open,
    ) -> None:
        self._printer = printer
        self._describe_rule = describe_rule
        self._open_terminal = open_terminal
        self._one_at_a_time = anyio.Lock()

    async def ask(self, request: PermissionRequest) -> Reply:
        """Ask in the order of the calls: the lock is fair, the printer's hold is not."""
        async with self._one_at_a_time:
            released = await anyio.to_thread.run_sync(self._printer.hold)
            try:
                with await anyio.to_thread.run_sync(self._open_terminal) as terminal:
                    return await ask_person(request, terminal, self._describe_rule)
            finally:
                released.set()


class StopSwitch:
    """Ctrl-C, SIGTERM, a closed terminal, and an output that nobody reads any more."""

    def __init__(self, group: anyio.abc.TaskGroup) -> None:
        self.agent: PromptedAgent | None = None
        self.is_over = False
        self._group = group
        self._loop = asyncio.get_running_loop()
        self._context = contextvars.copy_context()
        self._presses = 0

    async def watch_signals(
        self, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED
    ) -> None:
        watched = [signal.SIGINT, signal.SIGTERM]
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            # The terminal was closed. Whoever wants a run to outlive it says so with nohup.
            watched.append(signal.SIGHUP)
        with anyio.open_signal_receiver(*watched) as signals:
            task_status.started()
            async for _ in signals:
                self._presses += 1
                if self._presses > 1:
                    kill_all_descendants()
                    os._exit(INTERRUPTED)
                self.stop()

    def stop(self) -> None:
        """Stop the turn, or everything while there is none; on the event loop."""
        if not self.is_over:
            self._group.start_soon(self._interrupt)

    def stop_from_thread(self) -> None:
        # In the context of the run: only there anyio knows on which loop it is.
        self._loop.call_soon_threadsafe(self.stop, context=self._context)

    async def _interrupt(self) -> None:
        if self.agent is None or not await self.agent.interrupt():
            self._group.cancel_scope.cancel()
