"""`%shard model`: which model answers, and another one in its place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shard_jupyter.errors import UsageError
from shard_jupyter.protocol.agent_commands import SetModel
from shard_jupyter.surfaces.magics.line.chosen_agent import (
    NO_AGENT,
    ask_agent,
    choose_agent,
    look_again,
)
from shard_jupyter.surfaces.magics.line.line_arguments import LineArguments
from shard_jupyter.surfaces.magics.line.views.line_view import LineView
from shard_jupyter.types.agents import AgentInfo
from shard_jupyter.types.render_descriptors import RenderDescriptor, StatusDescriptor

if TYPE_CHECKING:
    from shard_jupyter.surfaces.magics.kernel_agents import KernelAgents

OPEN_SECONDS = 60.0
"""The SDK of another provider may have to be loaded first."""


@dataclass(frozen=True, repr=False)
class ModelView(LineView):
    """The model that holds.

    Attributes:
        agent: whose model it is; None while there is no agent.
        current: the model that answers the next prompt.
        previous: the one before, if this command has switched.
    """

    agent: str | None
    current: str | None
    previous: str | None = None

    def describe(self) -> tuple[RenderDescriptor, ...]:
        if self.previous is not None:
            return (self._change(self.previous),)
        return (StatusDescriptor(label=self._told()),)

    def _change(self, previous: str) -> StatusDescriptor:
        if previous == self.current:
            return StatusDescriptor(label=f"{self.agent} uses {self.current} already.")
        label = f"{self.agent} uses {self.current} from the next prompt on; it was {previous}."
        return StatusDescriptor(label=label, tone="success")

    def _told(self) -> str:
        if self.agent is None:
            return f"{NO_AGENT}. `%shard models` lists the models, and says which is the default."
        return f"{self.agent} uses {self.current}. Switch with: %shard model ID"


def run_command(agents: KernelAgents, given: LineArguments) -> ModelView:
    chosen = choose_agent(agents, given)
    wanted = given.argument
    if chosen is None:
        if wanted is not None:
            raise UsageError(
                f"{NO_AGENT}, so none can be switched to {wanted!r}.",
                next_step="Start one with that model: %%shard --model ID",
            )
        return ModelView(None, None)
    info = look_again(agents, chosen)
    if wanted is None:
        return ModelView(info.name, info.model)
    changed = ask_agent(
        agents, info, SetModel, AgentInfo, timeout_seconds=OPEN_SECONDS, model=wanted
    )
    return ModelView(changed.name, changed.model, previous=info.model)
