"""One execution of a cell, as everything that carries it out sees it. Cheap to import."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shard_jupyter.surfaces.magics.cells.cell_place import CellPlace
from shard_jupyter.surfaces.magics.cells.inbox import Inbox
from shard_jupyter.surfaces.magics.outputs.cell_display import CellDisplay

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from shard_jupyter.surfaces.magics.answer_schema import AnswerSchema
    from shard_jupyter.surfaces.magics.cell_options import CellOptions
    from shard_jupyter.surfaces.magics.kernel_agents import KernelAgents
    from shard_jupyter.surfaces.magics.prompt_text import PreparedPrompt


@dataclass(frozen=True)
class Cell:
    """`inbox` brings all that happens meanwhile, also interrupts."""

    shell: InteractiveShell
    agents: KernelAgents
    options: CellOptions
    prompt: PreparedPrompt
    schema: AnswerSchema | None
    place: CellPlace
    default_name: str
    display: CellDisplay
    inbox: Inbox

    @property
    def agent_name(self) -> str:
        return self.options.agent or self.default_name

    @property
    def shows_state(self) -> bool:
        """Whether something is on the screen before the turn has begun."""
        return self.place.mode == "notebook" and not self.options.quiet
