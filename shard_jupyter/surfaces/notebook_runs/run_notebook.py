"""Run the cells of a notebook in their order, show what they do, and keep it in the file.

The first Ctrl-C interrupts the cell, and the run ends with it; the second one (or SIGTERM, or the
end of the terminal) ends everything at once. The kernel is gone in every case.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
import anyio.to_thread
from nbformat import NotebookNode

from shard_jupyter.errors import ShardError
from shard_jupyter.surfaces.notebook_runs.answers import Answers
from shard_jupyter.surfaces.notebook_runs.cell_run import CellKernel, CellRuns
from shard_jupyter.surfaces.notebook_runs.kernel_client import (
    KernelDied,
    open_client,
    wait_until_ready,
)
from shard_jupyter.surfaces.notebook_runs.kernel_process import KernelProcess
from shard_jupyter.surfaces.notebook_runs.notebook_file import read_notebook, save_notebook
from shard_jupyter.surfaces.notebook_runs.presses import Inbox, Stopped, watch_presses
from shard_jupyter.surfaces.notebook_runs.run_outcome import RunOutcome, RunState
from shard_jupyter.surfaces.notebook_runs.run_view import RunView

END_SECONDS = 6.0
"""How long a kernel may take to end in good order, its agents included."""
STARTS = 2
"""A kernel is told its ports before it has them: somebody else may take one first."""


async def run_notebook(
    path: Path, *, environ: Mapping[str, str], answers: Answers, view: RunView
) -> RunOutcome:
    """Run the notebook in its folder; the file is saved after each cell.

    Args:
        path: the notebook, which is changed.
        environ: the whole environment of the kernel.
        answers: who answers when a cell asks.
        view: shows it.

    Raises:
        UserError: the file is no notebook, or no kernel can be started.
        StorageError: the file cannot be written.
    """
    run = _Run(path, answers, view, await anyio.to_thread.run_sync(read_notebook, path))
    failure: ShardError | None = None
    async with anyio.create_task_group() as group:
        try:
            await run.run(environ, group)
        except ShardError as error:
            # Taken out of the group, which would wrap it.
            failure = error
        group.cancel_scope.cancel()
    if failure is not None:
        raise failure
    return run.outcome


class _Run:
    def __init__(self, path: Path, answers: Answers, view: RunView, notebook: NotebookNode) -> None:
        self._path = path
        self._answers = answers
        self._view = view
        self._notebook = notebook
        self._started = time.monotonic()
        self._cells_run = 0
        self._state: RunState = "done"
        self._failure = ""

    @property
    def outcome(self) -> RunOutcome:
        return RunOutcome(
            state=self._state,
            cells_run=self._cells_run,
            cells=sum(map(_is_run, self._notebook.cells)),
            seconds=time.monotonic() - self._started,
            failure=self._failure,
        )

    async def run(self, environ: Mapping[str, str], group: anyio.abc.TaskGroup) -> None:
        own = {**environ, "JPY_SESSION_NAME": str(self._path)}
        await anyio.to_thread.run_sync(self._view.show_state, "… Starting a Python kernel")
        try:
            async with _open_kernel(self._path.parent, own, group) as (kernel, info):
                self._notebook.metadata["language_info"] = info["language_info"]
                await self._run_cells(CellRuns(kernel, self._answers, self._view, group))
        except Stopped:
            self._state = "interrupted"

    async def _run_cells(self, runs: CellRuns) -> None:
        for number, cell in enumerate(self._notebook.cells):
            if not _is_run(cell):
                if cell.cell_type == "markdown":
                    await anyio.to_thread.run_sync(self._view.show_prose, cell.source)
                continue
            await anyio.to_thread.run_sync(self._view.show_source, cell.source)
            self._cells_run += 1
            await self._run_cell(runs, cell, cell.get("id", f"cell-{number}"))
            if runs.was_interrupted:
                self._state = "interrupted"
            if self._state != "done":
                return

    async def _run_cell(self, runs: CellRuns, cell: NotebookNode, cell_id: str) -> None:
        try:
            self._failure = await runs.run(cell, cell_id)
        except KernelDied as death:
            self._failure = str(death)
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(save_notebook, self._path, self._notebook)
        if self._failure:
            self._state = "failed"


def _is_run(cell: NotebookNode) -> bool:
    skips = "skip-execution" in cell.metadata.get("tags", ())
    return cell.cell_type == "code" and bool(cell.source.strip()) and not skips


@asynccontextmanager
async def _open_kernel(
    cwd: Path, environ: Mapping[str, str], group: anyio.abc.TaskGroup
) -> AsyncIterator[tuple[CellKernel, dict[str, Any]]]:
    inbox: Inbox = asyncio.Queue()
    await group.start(watch_presses, inbox)
    for start in range(STARTS):
        process = await anyio.to_thread.run_sync(KernelProcess.start, cwd, environ)
        try:
            async with open_client(process, inbox, group) as client:
                try:
                    info = await wait_until_ready(client, inbox)
                except KernelDied:
                    if start + 1 < STARTS:
                        continue
                    raise
                yield CellKernel(client, inbox, process.interrupt), info
                await client.ask_shutdown()
                await anyio.to_thread.run_sync(process.wait, END_SECONDS)
                return
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(process.end)
