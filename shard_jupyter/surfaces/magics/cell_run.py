"""Run one `%%shard` cell: show something at once, load the rest, carry the turn out.

Cheap to import, because a person who has started a cell wants to see within 100 ms that it runs.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
import threading
import uuid
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from shard_jupyter.surfaces.magics.cells.cell import Cell
from shard_jupyter.surfaces.magics.cells.cell_place import find_place, name_default_agent
from shard_jupyter.surfaces.magics.cells.inbox import Ended, Inbox, Press
from shard_jupyter.surfaces.magics.cells.interrupts import InterruptGuard
from shard_jupyter.surfaces.magics.outputs.cell_display import CellDisplay, make_state_bundle

if TYPE_CHECKING:
    from types import ModuleType

    from IPython.core.interactiveshell import InteractiveShell

    from shard_jupyter.surfaces.magics.answer_schema import AnswerSchema
    from shard_jupyter.surfaces.magics.cell_options import CellOptions
    from shard_jupyter.surfaces.magics.kernel_agents import KernelAgents
    from shard_jupyter.surfaces.magics.prompt_text import PreparedPrompt


LOOK_SECONDS = 0.1


async def run_cell(
    shell: InteractiveShell,
    agents: KernelAgents,
    options: CellOptions,
    prompt: PreparedPrompt,
    schema: AnswerSchema | None,
) -> None:
    """Run a prompt to its end; what is shown belongs to the cell that awaits this.

    Raises:
        TurnFailed: the turn did not complete (not with `no_raise`), or it was interrupted.
        ShardError: there was no turn: a wrong model, configuration, session.
    """
    inbox = Inbox()
    with InterruptGuard(lambda: inbox.put(Press())):
        await _carry_out(make_cell(shell, agents, options, prompt, schema, inbox))


def run_cell_blocking(
    shell: InteractiveShell,
    agents: KernelAgents,
    options: CellOptions,
    prompt: PreparedPrompt,
    schema: AnswerSchema | None,
) -> None:
    """Do the same for a caller that cannot await: on an event loop of its own, in a thread."""
    presses = _Presses()

    async def run() -> None:
        inbox = Inbox()
        presses.send_to(inbox)
        await _carry_out(make_cell(shell, agents, options, prompt, schema, inbox))

    with InterruptGuard(presses.press):
        _run_in_thread(run(), presses)


class _Presses:
    """Interrupts of a cell whose event loop is perhaps not there yet."""

    def __init__(self) -> None:
        self._inbox: Inbox | None = None
        self._early = 0

    def press(self) -> None:
        if self._inbox is None:
            self._early += 1
        else:
            self._inbox.put(Press())

    def send_to(self, inbox: Inbox) -> None:
        self._inbox = inbox
        for _ in range(self._early):
            inbox.put(Press())


def _run_in_thread(run: Coroutine[Any, Any, None], presses: _Presses) -> None:
    context = contextvars.copy_context()
    done = threading.Event()
    failure: list[BaseException] = []

    def work() -> None:
        try:
            context.run(asyncio.run, run)
        except BaseException as error:  # noqa: BLE001 - raised again by the caller
            failure.append(error)
        finally:
            done.set()

    threading.Thread(target=work, name="shard-cell", daemon=True).start()
    while not done.is_set():
        try:
            done.wait(LOOK_SECONDS)  # a signal just before a wait begins does not end it
        except KeyboardInterrupt:  # raised by something else than the signal
            presses.press()
    if failure:
        raise failure[0]


def make_cell(
    shell: InteractiveShell,
    agents: KernelAgents,
    options: CellOptions,
    prompt: PreparedPrompt,
    schema: AnswerSchema | None,
    inbox: Inbox,
) -> Cell:
    place = find_place(shell)
    shows = place.mode == "notebook" and not options.quiet
    display = CellDisplay(shell, f"shard-{uuid.uuid4().hex}" if shows else None)
    default_name = agents.default_name(name_default_agent(place, os.environ))
    if shows:
        display.show(make_state_bundle(options.agent or default_name, "Starting"))
    return Cell(
        shell, agents, options, prompt, schema, place, default_name, display, inbox
    )  # fmt: skip


async def _carry_out(cell: Cell) -> None:
    try:
        module = await _load_in_thread(cell)
    except BaseException:
        if cell.shows_state:
            cell.display.show(make_state_bundle(cell.agent_name, "Not started"))
        raise
    await module.carry_out(cell)


async def _load_in_thread(cell: Cell) -> ModuleType:
    """Load what the rest needs. An interrupt waits that long, and then counts."""
    cell.inbox.start("load", _load)
    presses: list[object] = []
    while True:
        for item in await cell.inbox.take():
            if isinstance(item, Ended):
                for press in presses:
                    cell.inbox.put(press)
                if item.error is not None:
                    raise item.error
                module: ModuleType = item.value
                return module
            presses.append(item)


def _load() -> ModuleType:
    from shard_jupyter.surfaces.magics.cells import cell_turn  # noqa: PLC0415 - a third of a second

    return cell_turn
