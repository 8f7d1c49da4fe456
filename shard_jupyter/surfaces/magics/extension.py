"""What `%load_ext shard_jupyter` puts into a shell, and `%unload_ext` takes out again."""

from __future__ import annotations

import atexit
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from IPython.core.interactiveshell import InteractiveShell

from shard_jupyter.surfaces.magics.cell_transform import rewrite_cell
from shard_jupyter.surfaces.magics.hooks.option_completion import OptionMatcher
from shard_jupyter.surfaces.magics.hooks.surrogate_packing import pack_surrogates, unpack_surrogates
from shard_jupyter.surfaces.magics.line.line_completion import register_completion
from shard_jupyter.surfaces.magics.shard_magics import ShardMagics

if TYPE_CHECKING:
    from shard_jupyter.surfaces.magics.kernel_agents import (
        KernelAgents,
    )

NAME = "shard"
_KEY = "shard_jupyter"

# Of the context, because ipykernel runs cells of subshells in other threads at the same time.
_running_cells: ContextVar[tuple[str, ...]] = ContextVar("shard_running_cells", default=())
"""The cells that run, each within the one before it, as they were sent; '' where that is unknown."""


def load_extension(shell: InteractiveShell) -> None:
    """Install what is not there yet."""
    if _KEY not in shell.meta:
        shell.meta[_KEY] = ShardExtension(shell)
        shell.meta[_KEY].install()


def unload_extension(shell: InteractiveShell) -> None:
    """Take everything out and close the agents."""
    extension = shell.meta.pop(_KEY, None)
    if extension is not None:
        extension.remove()


class ShardExtension:
    """The hooks in one shell, and the agents that its cells use."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell
        self._agents: KernelAgents | None = None
        self._magics = ShardMagics(shell, self.open_agents, _running_cells.get)
        self._rewriter = CellRewriter(shell)
        self._matcher = OptionMatcher(self._known_agents)
        self._events: dict[str, Callable[..., None]] = {
            "pre_execute": _enter_cell,
            "pre_run_cell": _note_cell,
            "post_execute": _leave_cell,
        }
        self._replaced: dict[str, Any] = {}
        self._end_completion: Callable[[], None] = lambda: None

    def install(self) -> None:
        shell = self._shell
        known = shell.magics_manager.magics
        self._replaced = {kind: known[kind].get(NAME) for kind in known}
        shell.register_magics(self._magics)
        shell.input_transformers_cleanup.insert(0, self._rewriter)
        for event, callback in self._events.items():
            shell.events.register(event, callback)
        shell.Completer.custom_matchers.append(self._matcher)
        self._end_completion = register_completion(
            shell, lambda: [agent.name for agent in self._known_agents()]
        )
        pack_surrogates(shell)
        atexit.register(self._close_agents)

    def remove(self) -> None:
        shell = self._shell
        with suppress(ValueError):
            shell.input_transformers_cleanup.remove(self._rewriter)
        for event, callback in self._events.items():
            with suppress(ValueError):
                shell.events.unregister(event, callback)
        with suppress(ValueError):
            shell.Completer.custom_matchers.remove(self._matcher)
        self._end_completion()
        self._remove_magics()
        unpack_surrogates(shell)
        atexit.unregister(self._close_agents)
        self._close_agents()

    def open_agents(self) -> KernelAgents:
        """The agents of this kernel; made, but not started, at the first call."""
        if self._agents is None:
            from shard_jupyter.surfaces.magics.kernel_agents import (  # noqa: PLC0415 - heavy
                KernelAgents,
            )

            self._agents = KernelAgents()
        return self._agents

    def _close_agents(self) -> None:
        agents, self._agents = self._agents, None
        if agents is not None:
            agents.close()

    def _remove_magics(self) -> None:
        manager = self._shell.magics_manager
        for kind, replaced in self._replaced.items():
            if getattr(manager.magics[kind].get(NAME), "__self__", None) is not self._magics:
                continue
            del manager.magics[kind][NAME]
            if replaced is not None:
                manager.magics[kind][NAME] = replaced
        manager.registry.pop(type(self._magics).__name__, None)

    def _known_agents(self) -> tuple[Any, ...]:
        return self._agents.all() if self._agents is not None else ()


class CellRewriter:
    """The input transform; decides for each cell whether it can be awaited."""

    # So that a question whether a cell is complete skips it, and asks on until a blank line.
    has_side_effects = True

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell

    def __call__(self, lines: list[str]) -> list[str]:
        rewritten = rewrite_cell("".join(lines), is_awaited=self._can_await())
        if rewritten is None:
            return lines
        return [f"{line}\n" for line in rewritten.split("\n")[:-1]]

    def _can_await(self) -> bool:
        """A cell within a cell, as under `%%capture`, finds its event loop taken."""
        shell = self._shell
        is_asyncio = shell.loop_runner is shell.loop_runner_map["asyncio"][0]
        return bool(shell.autoawait) and is_asyncio and not _running_cells.get()


def _enter_cell() -> None:
    _running_cells.set((*_running_cells.get(), ""))


def _note_cell(info: Any) -> None:  # noqa: ANN401 - IPython's ExecutionInfo
    """Not called for a silent cell."""
    _running_cells.set((*_running_cells.get()[:-1], info.raw_cell))


def _leave_cell() -> None:
    # The end is also told where the start was not: in another task, or when we came in between.
    _running_cells.set(_running_cells.get()[:-1])
