"""`%%shard` and `%shard` as IPython calls them: read, check, and hand over.

Loaded with the extension, so it imports nothing that is not loaded in a kernel already; the rest
comes with the first use.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, line_cell_magic, magics_class, no_var_expand

from shard_jupyter.errors import Bug, ShardError
from shard_jupyter.surfaces.magics.cell_options import describe_options
from shard_jupyter.surfaces.magics.cell_transform import restore_body

if TYPE_CHECKING:
    from shard_jupyter.surfaces.magics.cell_request import CellRequest
    from shard_jupyter.surfaces.magics.kernel_agents import (
        KernelAgents,
    )

HELP = f"""Ask a coding agent, in a cell of its own:

    %%shard [options]
    What the agent is to do, in as many lines as you like.

The cells of a notebook continue one conversation. Nothing in the prompt is expanded, except that
@name attaches a short description of the variable of this name, and @file:path (or
@file:"my file.csv") a text file of the working folder. In `backticks` and fences @ means nothing.

Options:
{describe_options()}

A turn that fails, and one in which something it needed was denied, fails the cell. Interrupt the
kernel to stop a turn. "%shard help" lists what there is to ask about agents.
"""


@magics_class
class ShardMagics(Magics):
    """The two magics of one shell.

    `open_agents` makes the agents at the first call; `find_raw_cells` gives the running cells as
    they were sent, each within the one before it.
    """

    shell: InteractiveShell

    def __init__(
        self,
        shell: InteractiveShell,
        open_agents: Callable[[], KernelAgents],
        find_raw_cells: Callable[[], tuple[str, ...]],
    ) -> None:
        super().__init__(shell)
        self._open_agents = open_agents
        self._find_raw_cells = find_raw_cells

    @no_var_expand
    @line_cell_magic
    def shard(self, line: str, cell: str | None = None, *, is_awaited: bool = False) -> object:
        # `is_awaited` comes from a rewritten cell; without it code has called, and waits for us.
        if cell is None:
            return self._run_line(line)
        if is_awaited:
            return self._run_awaited(line, cell)
        self._run_blocking(line, cell)
        return None

    shard.__doc__ = HELP

    def _run_line(self, line: str) -> object:
        from shard_jupyter.surfaces.magics.line_commands import (  # noqa: PLC0415
            run_line,
        )

        with errors_that_show():
            return run_line(self.shell, self._open_agents(), line)

    async def _run_awaited(self, line: str, cell: str) -> None:
        with errors_that_show():
            request = self._read_request(line, cell)
            if request is None:
                return
            from shard_jupyter.surfaces.magics.cell_run import (  # noqa: PLC0415
                run_cell,
            )

            await run_cell(
                self.shell, self._open_agents(), request.options, request.prompt, request.schema
            )

    def _run_blocking(self, line: str, cell: str) -> None:
        with errors_that_show():
            request = self._read_request(line, cell)
            if request is None:
                return
            from shard_jupyter.surfaces.magics.cell_run import (  # noqa: PLC0415
                run_cell_blocking,
            )

            run_cell_blocking(
                self.shell, self._open_agents(), request.options, request.prompt, request.schema
            )

    def _read_request(self, line: str, cell: str) -> CellRequest | None:
        from shard_jupyter.surfaces.magics.cell_request import (  # noqa: PLC0415
            read_cell_request,
        )

        body = restore_body(cell, *self._find_raw_cells())
        request = read_cell_request(
            line, body, self._visible_names(), folder=self.shell.starting_dir
        )
        if request is None:
            sys.stdout.write(HELP)
        return request

    def _visible_names(self) -> dict[str, object]:
        """The names of the user; what IPython put there itself is meant by no mention."""
        hidden = self.shell.user_ns_hidden
        return {
            name: value
            for name, value in self.shell.user_ns.items()
            if name.startswith("_") or name not in hidden or hidden[name] is not value
        }


@contextmanager
def errors_that_show() -> Iterator[None]:
    """Drop what lies behind an error that is told in one line.

    For an error with an exception group behind it IPython sends no error output at all.
    """
    try:
        yield
    except Bug:
        raise
    except ShardError as error:
        error.__context__ = error.__cause__ = None
        raise
