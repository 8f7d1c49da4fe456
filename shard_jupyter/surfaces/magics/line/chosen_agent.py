"""Which agent of this kernel a command is about, and how it is asked."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, TypeVar

from shard_jupyter.errors import AgentClosed, UsageError
from shard_jupyter.protocol.agent_commands import AgentCommand
from shard_jupyter.protocol.registry_commands import AgentListCommand, AgentStatusCommand
from shard_jupyter.protocol.results import AgentList
from shard_jupyter.surfaces.magics.line.line_arguments import LineArguments, say_nearest
from shard_jupyter.surfaces.render_static.visible_text import make_visible_line
from shard_jupyter.types.agents import AgentInfo
from shard_jupyter.types.wire_model import WireModel

if TYPE_CHECKING:
    from shard_jupyter.surfaces.magics.kernel_agents import KernelAgents

Result = TypeVar("Result", bound=WireModel)
NO_AGENT = "This notebook has no agent"
START = "Start one: put %%shard on the first line of a cell, and what is to be done below it."


def choose_agent(agents: KernelAgents, given: LineArguments) -> AgentInfo | None:
    """Return the agent that `--agent` names, else the one used last; None while there is none.

    Raises:
        UsageError: no agent has that name.
    """
    name = given.options.get("--agent")
    if name is None:
        return agents.current()
    found = agents.by_name(name)
    if found is None:
        known = [info.name for info in agents.all()]
        there = f"There are: {make_visible_line(', '.join(known))}." if known else START
        raise UsageError(
            f"No agent of this notebook is called {name!r}.{say_nearest(name, known)}",
            next_step=there,
        )
    return found


def ask_agent(
    agents: KernelAgents,
    info: AgentInfo,
    command: type[AgentCommand],
    result: type[Result],
    *,
    timeout_seconds: float = 30.0,
    **fields: object,
) -> Result:
    """Send a command to an agent. Blocks.

    Where its process has ended, it is restored from its session first, and has another id then.

    Raises:
        ShardError: as the reply says, or nothing came in time.
    """
    ask = partial(agents.request, command, result, timeout_seconds=timeout_seconds, **fields)
    try:
        return ask(agent_id=info.id)
    except AgentClosed:
        agents.request(AgentListCommand, AgentList)  # any request restores what was lost
        restored = agents.by_name(info.name)
        if restored is None or restored.id == info.id:
            raise AgentClosed(
                f"The agent {info.name} is not open now.",
                next_step="Run a %%shard cell: it goes on with the conversation, or says why not.",
            ) from None
        return ask(agent_id=restored.id)


def look_again(agents: KernelAgents, info: AgentInfo) -> AgentInfo:
    """Return the agent as it is now.

    Raises:
        ShardError: it does not answer.
    """
    return ask_agent(agents, info, AgentStatusCommand, AgentInfo)
