"""`%shard status`: the agent that the next cell goes on with, and the others of this kernel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import reduce
from typing import TYPE_CHECKING

from shard_jupyter.core.limits.totals import add_totals
from shard_jupyter.errors import ShardError
from shard_jupyter.surfaces.magics.line.chosen_agent import (
    NO_AGENT,
    START,
    choose_agent,
    look_again,
)
from shard_jupyter.surfaces.magics.line.conversation import read_agent_turns
from shard_jupyter.surfaces.magics.line.line_arguments import LineArguments
from shard_jupyter.surfaces.magics.line.stored_turns import summarise
from shard_jupyter.surfaces.magics.line.views.agent_words import (
    NOT_CONNECTED,
    name_state,
    show_money,
    show_tokens,
)
from shard_jupyter.surfaces.magics.line.views.descriptors import make_facts, make_table
from shard_jupyter.surfaces.magics.line.views.line_view import LineView
from shard_jupyter.surfaces.magics.line.views.moments import say_when
from shard_jupyter.types.agents import AgentInfo
from shard_jupyter.types.render_descriptors import RenderDescriptor, StatusDescriptor
from shard_jupyter.types.usage import UsageTotals

if TYPE_CHECKING:
    from shard_jupyter.surfaces.magics.kernel_agents import KernelAgents


@dataclass(frozen=True)
class AgentState:
    """One agent at one moment.

    Attributes:
        state: as shown: Idle, Running, Needs your answer, Failed, Stopped, Not connected.
        trouble: why it does not answer; empty while it does.
        last_activity: RFC 3339; empty where it is not known.
    """

    name: str
    agent_id: str
    session_id: str
    model: str
    mode: str
    state: str
    cwd: str
    usage: UsageTotals
    pending: int = 0
    last_activity: str = ""
    trouble: str = ""


@dataclass(frozen=True, repr=False)
class StatusView(LineView):
    """The fields are those of the agent shown, and None or empty while there is none.

    Attributes:
        turns: of its conversation; None when they could not be counted.
        usage: of the whole conversation, also of what was before this kernel.
        agents: all of this kernel, the shown one among them.
    """

    agent: AgentState | None
    turns: int | None
    usage: UsageTotals
    agents: tuple[AgentState, ...]
    taken: datetime

    @property
    def name(self) -> str | None:
        return self.agent.name if self.agent else None

    @property
    def session_id(self) -> str | None:
        return self.agent.session_id if self.agent else None

    @property
    def model(self) -> str | None:
        return self.agent.model if self.agent else None

    @property
    def mode(self) -> str | None:
        return self.agent.mode if self.agent else None

    @property
    def state(self) -> str | None:
        return self.agent.state if self.agent else None

    def describe(self) -> tuple[RenderDescriptor, ...]:
        if self.agent is None:
            return (StatusDescriptor(label=f"{NO_AGENT}. {START}"),)
        shown: list[RenderDescriptor] = [make_facts(self._facts(self.agent))]
        if self.agent.trouble:
            shown.append(StatusDescriptor(label=self.agent.trouble, tone="error"))
        if len(self.agents) > 1:
            head = ("Agent", "State", "Model", "Mode", "Session")
            shown.append(make_table(head, map(self._row, self.agents)))
        return tuple(shown)

    def _facts(self, agent: AgentState) -> Iterator[tuple[str, str]]:
        yield "Agent", agent.name
        yield "State", agent.state
        yield "Model", agent.model
        yield "Mode", agent.mode
        yield "Folder", agent.cwd
        yield "Session", agent.session_id
        yield "Turns", "" if self.turns is None else str(self.turns)
        yield "Used", show_tokens(self.usage)
        yield "Cost", show_money(self.usage)
        yield "Last used", say_when(agent.last_activity, self.taken)

    def _row(self, agent: AgentState) -> tuple[str, ...]:
        shown = " (shown above)" if agent is self.agent else ""
        name = f"{agent.name}{shown}"
        return name, agent.state, agent.model, agent.mode, agent.session_id


def run_command(agents: KernelAgents, given: LineArguments) -> StatusView:
    chosen = choose_agent(agents, given)
    if chosen is None:
        return StatusView(None, None, UsageTotals(), (), _now())
    states = {info.name: look_at(agents, info) for info in agents.all()}
    state = states[chosen.name]
    if state.trouble:
        return StatusView(state, None, state.usage, tuple(states.values()), _now())
    turns = read_agent_turns(agents, look_again(agents, chosen))
    usage = reduce(add_totals, (summarise(turn).usage for turn in turns), UsageTotals())
    return StatusView(state, len(turns), usage, tuple(states.values()), _now())


def _now() -> datetime:
    return datetime.now(UTC)


def look_at(agents: KernelAgents, info: AgentInfo) -> AgentState:
    """Ask the agent how it is now. One that does not answer is shown as it was known, and so."""
    trouble = ""
    try:
        info = look_again(agents, info)
    except ShardError as error:
        trouble = str(error)
    return AgentState(
        name=info.name,
        agent_id=info.id,
        session_id=info.session_id,
        model=info.model,
        mode=info.mode,
        state=NOT_CONNECTED if trouble else name_state(info),
        cwd=info.cwd,
        usage=info.usage,
        pending=info.pending,
        last_activity=info.last_activity,
        trouble=trouble,
    )
