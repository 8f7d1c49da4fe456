"""Run one cell after another in a kernel: what it shows, what it asks, how it ends."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import anyio
import anyio.abc
import anyio.to_thread
from nbformat import NotebookNode

from shard_jupyter.surfaces.notebook_runs.answers import Answers
from shard_jupyter.surfaces.notebook_runs.cell_outputs import NotebookOutputs
from shard_jupyter.surfaces.notebook_runs.cell_screen import CellScreen, tell_error
from shard_jupyter.surfaces.notebook_runs.kernel_client import (
    Heard,
    KernelClient,
    KernelDied,
)
from shard_jupyter.surfaces.notebook_runs.presses import Inbox, Press, Stopped
from shard_jupyter.surfaces.notebook_runs.run_view import RunView

QUIET_SECONDS = 0.2
"""A question may overtake what is shown with it: so long nothing must have come."""
TICK_SECONDS = 1.0
LAST_SECONDS = 5.0
"""How long the last outputs may come after the reply."""
END_OF_INPUT = "\x04"
HALF_A_CHARACTER = (
    "The cell holds half a character (a lone surrogate), which no kernel can be sent."
)


@dataclass(frozen=True)
class CellKernel:
    """A kernel that is ready. `interrupt` does what Ctrl-C does; it blocks for a moment."""

    client: KernelClient
    inbox: Inbox
    interrupt: Callable[[], None]


class CellRuns:
    """The cells of one run. `group` carries the questions.

    Attributes:
        was_interrupted: by Ctrl-C, whatever the cell made of it.
    """

    def __init__(
        self,
        kernel: CellKernel,
        answers: Answers,
        view: RunView,
        group: anyio.abc.TaskGroup,
    ) -> None:
        self.was_interrupted = False
        self._kernel = kernel
        self._answers = answers
        self._view = view
        self._group = group
        self._outputs = NotebookOutputs()
        self._one_at_a_time = anyio.Lock()
        self._screen = CellScreen(view)
        self._asking: anyio.CancelScope | None = None
        self._asked = anyio.Event()
        """The last question has been left."""
        self._asked.set()

    async def run(self, cell: NotebookNode, cell_id: str) -> str:
        """Run a cell to its end; returns its error in one line, empty for none.

        Raises:
            Stopped: everything has to end.
            KernelDied: the kernel has ended.
        """
        self._outputs.start(cell)
        self._screen = CellScreen(self._view)
        if not _can_be_sent(cell.source):
            return HALF_A_CHARACTER
        may_fail = "raises-exception" in cell.metadata.get("tags", ())
        request = await self._kernel.client.execute(
            cell.source,
            cell_id,
            allow_stdin=self._answers.has_person,
            stop_on_error=not may_fail,
        )
        try:
            reply = await self._follow(request)
        finally:
            self._stop_asking()
            with anyio.CancelScope(shield=True):
                await self._show(self._screen.end)
        return "" if reply["status"] == "ok" or may_fail else _tell_failure(reply)

    async def _follow(self, request: str) -> dict[str, Any]:
        reply: dict[str, Any] | None = None
        is_idle, deadline = False, math.inf
        while reply is None or not is_idle:
            item = await self._wait_for_next(deadline)
            if item is None:
                break
            if not isinstance(item, Heard):
                await self._take_event(item)
            elif item.parent == request:
                is_idle = is_idle or item.content.get("execution_state") == "idle"
                if item.kind == "execute_reply":
                    reply, deadline = item.content, anyio.current_time() + LAST_SECONDS
                await self._take(item)
        return reply or {"status": "ok"}

    async def _wait_for_next(self, deadline: float) -> object | None:
        """Wait for what comes, and show how long it takes; None: nothing came in time."""
        while True:
            with anyio.move_on_at(min(deadline, anyio.current_time() + TICK_SECONDS)):
                return await self._kernel.inbox.get()
            if anyio.current_time() >= deadline:
                return None
            await self._show(self._screen.tick)

    async def _take_event(self, item: object) -> None:
        if isinstance(item, KernelDied):
            raise item
        if isinstance(item, Press):
            if item.is_final:
                raise Stopped
            self.was_interrupted = True
            # The terminal is free again before the kernel tells what became of the cell.
            self._stop_asking()
            await self._asked.wait()
            await anyio.to_thread.run_sync(self._kernel.interrupt)

    async def _take(self, heard: Heard) -> None:
        if heard.channel == "iopub":
            self._outputs.take(heard.kind, heard.content, heard.message)
            await self._show(self._screen.take, heard.kind, heard.content)
        elif heard.kind == "input_request":
            self._stop_asking()
            self._asking, self._asked = anyio.CancelScope(), anyio.Event()
            self._group.start_soon(self._ask, heard.content, self._asking, self._asked)

    async def _ask(
        self, content: dict[str, Any], scope: anyio.CancelScope, asked: anyio.Event
    ) -> None:
        try:
            with scope:
                await self._ask_person(content)
        finally:
            asked.set()

    async def _ask_person(self, content: dict[str, Any]) -> None:
        client = self._kernel.client
        while (left := client.last_output_at + QUIET_SECONDS - time.monotonic()) > 0:
            await anyio.sleep(left)
        await self._show(self._screen.show_open)
        self._screen.is_asking = True
        try:
            line = await self._answers.answer(
                content["prompt"], is_password=bool(content.get("password"))
            )
        finally:
            self._screen.is_asking = False
        await client.reply_input(END_OF_INPUT if line is None else line)

    def _stop_asking(self) -> None:
        """The kernel says nowhere that it gives a question up; the next thing it does says it."""
        if self._asking is not None:
            self._asking.cancel()
            self._asking = None

    async def _show(self, show: Callable[..., None], *arguments: object) -> None:
        async with self._one_at_a_time:
            await anyio.to_thread.run_sync(show, *arguments)


def _tell_failure(reply: dict[str, Any]) -> str:
    return tell_error(reply) or f"The cell was {reply['status']}."


def _can_be_sent(source: str) -> bool:
    try:
        source.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
