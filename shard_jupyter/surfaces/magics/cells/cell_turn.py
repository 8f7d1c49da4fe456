"""What a cell does from its options to its end: open the agent, prompt it, judge the answer."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from typing import Any

from shard_jupyter.core.limits.totals import add_totals
from shard_jupyter.errors import AnswerMismatch, ShardError, TurnFailed, UsageError
from shard_jupyter.surfaces.conversation.outcome import raise_for_outcome
from shard_jupyter.surfaces.conversation.palette import Palette, choose_palette
from shard_jupyter.surfaces.magics.agents.agent_roster import OpenedAgent
from shard_jupyter.surfaces.magics.answer_schema import AnswerSchema
from shard_jupyter.surfaces.magics.cells.cell import Cell
from shard_jupyter.surfaces.magics.cells.inbox import Ended, Press
from shard_jupyter.surfaces.magics.cells.questions import (
    Asker,
    Questions,
    StdinAsker,
    TerminalAsker,
)
from shard_jupyter.surfaces.magics.cells.turn_drive import TurnDrive
from shard_jupyter.surfaces.magics.outputs.cell_output import (
    CellOutput,
    HeadlessOutput,
    NotebookOutput,
    SilentOutput,
    to_result,
)
from shard_jupyter.surfaces.magics.outputs.console_output import ConsoleOutput
from shard_jupyter.surfaces.magics.outputs.update_pace import KernelPace
from shard_jupyter.surfaces.render_static.turn_record import TurnRecorder
from shard_jupyter.types.decisions import AskSetting
from shard_jupyter.types.events import TurnEnd
from shard_jupyter.types.turns import ErrorInfo
from shard_jupyter.types.usage import UsageTotals

MOST_CORRECTIONS = 2
KEPT = "Stopped. Everything so far is kept."
_KERNEL_PACE = KernelPace()


async def carry_out(cell: Cell) -> None:
    """Run the cell.

    Raises:
        TurnFailed: the turn did not complete (not with `no_raise`), or it was interrupted.
        ShardError: there was no turn.
    """
    output = make_output(cell)
    for notice in cell.prompt.notices:
        output.note(notice)
    try:
        _check(cell)
        agent = await _open_agent(cell)
        for notice in agent.notices:
            output.note(notice, "warn")
        talk = Talk(cell, agent, output)
        end = await talk.run()
    except BaseException as error:
        output.fail(describe_error(error))
        raise
    _finish(cell, output, talk, end)


def make_output(cell: Cell) -> CellOutput:
    mode = cell.place.mode
    is_console = mode in ("console", "terminal")
    if cell.options.quiet:
        return SilentOutput(sys.stderr if is_console else None)
    if is_console:
        in_terminal = mode == "terminal"
        palette = choose_palette(sys.stdout, os.environ) if in_terminal else Palette(on=False)
        return ConsoleOutput(sys.stdout, sys.stderr, palette)
    is_headless = mode == "headless"
    recorder = TurnRecorder(
        agent=cell.agent_name, prompt=cell.prompt.text, deterministic=is_headless
    )
    if is_headless:
        return HeadlessOutput(cell.display, recorder)
    return NotebookOutput(cell.display, recorder, _KERNEL_PACE)


def _check(cell: Cell) -> None:
    if cell.options.ask == "inline" and not cell.place.can_ask:
        raise UsageError(
            "--ask inline needs somebody who can answer, and nobody can be asked here.",
            next_step="Leave --ask out, and allow what the cell needs by a rule.",
        )


async def _open_agent(cell: Cell) -> OpenedAgent:
    """Open the agent in a thread. An interrupt does not wait for it: the next cell finds it."""
    cell.inbox.start("open", lambda: cell.agents.open(cell.options, cell.default_name))
    while True:
        for item in await cell.inbox.take():
            if isinstance(item, Press):
                raise TurnFailed(
                    "Stopped before the prompt was sent.",
                    None,
                    code="interrupted",
                    next_step="Run the cell again.",
                )
            if isinstance(item, Ended):
                if item.error is not None:
                    raise item.error
                opened: OpenedAgent = item.value
                return opened


class Talk:
    """The prompt of a cell and, where its answer has to fit a schema, what corrects it.

    Attributes:
        value: what `--out` gets: the text, or the object that the schema has read.
        mismatch: why the last answer does not fit the schema.
    """

    def __init__(self, cell: Cell, agent: OpenedAgent, output: CellOutput) -> None:
        self.value: object = None
        self.mismatch: AnswerMismatch | None = None
        self.drive = TurnDrive(
            agent,
            cell.inbox,
            output,
            Questions(_make_asker(cell, output)),
            cell.agents.leave_behind,
        )
        self._cell = cell
        self._output = output
        self._agent_id = agent.info.id
        self._ask = choose_ask(cell, agent.info.model)
        self._started: float | None = None
        self._usage = UsageTotals()

    async def run(self) -> TurnEnd:
        schema = self._cell.schema
        text = self._cell.prompt.text
        if schema is None:
            end = await self._prompt(text)
            self.value = end.text
            return end
        end = await self._prompt(text + schema.instructions())
        corrections = 0
        while end.outcome == "completed":
            self.mismatch = self._read(schema, end.text)
            if self.mismatch is None:
                break
            if corrections == MOST_CORRECTIONS or self.drive.was_stopped:
                return end.model_copy(
                    update={"outcome": "failed", "error": describe_error(self.mismatch)}
                )
            corrections += 1
            end = await self._correct(schema, self.mismatch)
        return end

    async def _correct(self, schema: AnswerSchema, mismatch: AnswerMismatch) -> TurnEnd:
        self._output.note(f"{mismatch.message}. It was asked for again.", "warn")
        try:
            return await self._prompt(schema.correction(mismatch))
        except ShardError as error:  # refused; what was said before is still to be shown
            return TurnEnd(agent_id=self._agent_id, outcome="failed", error=describe_error(error))

    def _read(self, schema: AnswerSchema, text: str) -> AnswerMismatch | None:
        try:
            self.value = schema.read(text)
        except AnswerMismatch as mismatch:
            return mismatch
        return None

    async def _prompt(self, text: str) -> TurnEnd:
        end = await self.drive.run(text, ask=self._ask, **self._limits())
        self._usage = add_totals(self._usage, end.usage)
        error = tell_whole_time(end.error, self._cell.options.timeout_seconds)
        return end.model_copy(update={"usage": self._usage, "error": error})

    def _limits(self) -> dict[str, Any]:
        options = self._cell.options
        left = options.timeout_seconds
        if self._started is None:
            self._started = time.monotonic()
        elif left is not None:
            left = max(0.001, left - (time.monotonic() - self._started))
        record = None if options.record is None else str(options.record)
        return {"timeout_seconds": left, "budget": options.budget, "record": record}


def _make_asker(cell: Cell, output: CellOutput) -> Asker | None:
    if not cell.place.can_ask:
        return None
    if cell.place.mode == "terminal":
        return TerminalAsker(cell.inbox, lambda: output.say(""))
    return StdinAsker(cell.inbox, output.put_question)


def choose_ask(cell: Cell, model: str) -> AskSetting | None:
    """Say who decides what no rule covers; None: as configured for when nobody can be asked."""
    if cell.options.ask is not None:
        return cell.options.ask
    if model.startswith("replay:"):
        return "recorded"
    return "inline" if cell.place.can_ask else None


def tell_whole_time(error: ErrorInfo | None, seconds: float | None) -> ErrorInfo | None:
    """Name the time that the cell had, not what was left of it for a correction. Pure."""
    if error is None or error.code != "timeout" or seconds is None:
        return error
    return error.model_copy(update={"message": f"The turn was stopped after {seconds:g} s."})


def describe_error(error: BaseException) -> ErrorInfo:
    if isinstance(error, ShardError):
        return ErrorInfo(code=error.code, message=error.message, next_step=error.next_step)
    return ErrorInfo(code="error", message=f"{type(error).__name__}: {error}".removesuffix(": "))


def _finish(cell: Cell, output: CellOutput, talk: Talk, end: TurnEnd) -> None:
    failure = find_failure(end, talk.mismatch, no_raise=cell.options.no_raise)
    output.finish(end, is_raised=failure is not None)
    if talk.drive.cancelled:
        raise asyncio.CancelledError
    if failure is not None:
        raise failure
    if cell.options.out is not None and end.outcome == "completed":
        cell.shell.user_ns[cell.options.out] = talk.value


def find_failure(
    end: TurnEnd, mismatch: AnswerMismatch | None = None, *, no_raise: bool
) -> ShardError | None:
    """Return what the cell fails with; an interrupt always does. Pure."""
    result = to_result(end)
    if end.outcome in ("interrupted", "cancelled"):
        more = f" {end.error.message}" if end.error is not None else ""
        return TurnFailed(
            f"{KEPT}{more}",
            result,
            code="interrupted",
            next_step="Run the next cell to go on from here.",
        )
    if no_raise:
        return None
    if mismatch is not None:
        return mismatch
    try:
        raise_for_outcome(result)
    except TurnFailed as failure:
        return failure
    return None
