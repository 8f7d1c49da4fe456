"""`%shard mode`: which modes there are, and which one the agent is in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shard_jupyter.core.modes.builtin_modes import BUILTIN_MODES
from shard_jupyter.errors import UsageError
from shard_jupyter.protocol.agent_commands import SetMode
from shard_jupyter.surfaces.magics.line.chosen_agent import (
    NO_AGENT,
    ask_agent,
    choose_agent,
    look_again,
)
from shard_jupyter.surfaces.magics.line.line_arguments import LineArguments, say_nearest
from shard_jupyter.surfaces.magics.line.views.descriptors import make_table
from shard_jupyter.surfaces.magics.line.views.line_view import LineView
from shard_jupyter.types.agents import AgentInfo
from shard_jupyter.types.render_descriptors import RenderDescriptor, StatusDescriptor

if TYPE_CHECKING:
    from shard_jupyter.surfaces.magics.kernel_agents import KernelAgents


@dataclass(frozen=True)
class ModeRow:
    name: str
    description: str


@dataclass(frozen=True, repr=False)
class ModeView(LineView):
    """The modes, and the one that holds.

    Attributes:
        agent: whose mode it is; None while there is no agent.
        current: the mode it is in now.
        previous: the one before, if this command has switched.
    """

    agent: str | None
    current: str | None
    modes: tuple[ModeRow, ...]
    previous: str | None = None

    def describe(self) -> tuple[RenderDescriptor, ...]:
        if self.previous is not None:
            return (self._change(self.previous),)
        rows = ((self._mark(row.name), row.description) for row in self.modes)
        return make_table(("Mode", "What it is for"), rows), StatusDescriptor(label=self._advice())

    def _change(self, previous: str) -> StatusDescriptor:
        if previous == self.current:
            return StatusDescriptor(label=f"{self.agent} is in mode {self.current} already.")
        label = f"{self.agent} is in mode {self.current} now; it was in {previous}."
        return StatusDescriptor(label=label, tone="success")

    def _mark(self, name: str) -> str:
        return f"{name} (now)" if name == self.current else name

    def _advice(self) -> str:
        if self.agent is None:
            return f"{NO_AGENT}. Start one in a mode: %%shard --mode plan"
        return f"{self.agent} is in mode {self.current}. Switch with: %shard mode NAME"


def run_command(agents: KernelAgents, given: LineArguments) -> ModeView:
    rows = tuple(ModeRow(mode.name, mode.description) for mode in BUILTIN_MODES)
    chosen = choose_agent(agents, given)
    wanted = given.argument
    if chosen is None:
        if wanted is not None:
            raise _refuse_without_agent(wanted)
        return ModeView(None, None, rows)
    info = look_again(agents, chosen)
    if wanted is None:
        return ModeView(info.name, info.mode, rows)
    changed = ask_agent(agents, info, SetMode, AgentInfo, mode=wanted)
    return ModeView(changed.name, changed.mode, rows, previous=info.mode)


def _refuse_without_agent(wanted: str) -> UsageError:
    known = [mode.name for mode in BUILTIN_MODES]
    if wanted not in known:
        hint = say_nearest(wanted, known)
        return UsageError(
            f"There is no mode {wanted!r}.{hint}", next_step=f"Modes: {', '.join(known)}."
        )
    return UsageError(
        f"{NO_AGENT}, so none can be switched.",
        next_step=f"Start one in that mode: %%shard --mode {wanted}",
    )
