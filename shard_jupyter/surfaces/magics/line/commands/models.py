"""`%shard models`: the models known from configuration, and what each still needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from shard_jupyter.surfaces.magics.line.command_child import ask_command_line
from shard_jupyter.surfaces.magics.line.line_arguments import LineArguments
from shard_jupyter.surfaces.magics.line.views.descriptors import make_table
from shard_jupyter.surfaces.magics.line.views.line_view import LineView
from shard_jupyter.surfaces.render_static.words.numbers import show_bytes
from shard_jupyter.types.model_rows import ModelRow
from shard_jupyter.types.render_descriptors import RenderDescriptor, StatusDescriptor

if TYPE_CHECKING:
    from shard_jupyter.surfaces.magics.kernel_agents import KernelAgents

_ANY = ":*"


@dataclass(frozen=True, repr=False)
class ModelsView(LineView):
    """Every row of the model list.

    Attributes:
        models: `model_id` ends in `:*` where the provider knows more than configuration names.
    """

    models: tuple[ModelRow, ...]

    @property
    def default(self) -> str | None:
        """The model that a new agent gets."""
        return next((row.model_id for row in self.models if row.is_default), None)

    @property
    def has_own(self) -> bool:
        """Whether a model file on this machine can be used now."""
        return any(row.size_bytes is not None and row.refusal is None for row in self.models)

    def describe(self) -> tuple[RenderDescriptor, ...]:
        table: list[tuple[str, ...]] = [
            ("Model", "Where", "Size", "State"),
            *map(_cells, self.models),
        ]
        if not any(row.size_bytes for row in self.models):
            table = [(*cells[:2], *cells[3:]) for cells in table]
        head, *rows = table
        return make_table(head, rows), StatusDescriptor(label=self._advice())

    def _advice(self) -> str:
        chosen = f"The default is {self.default}." if self.default else "No default is set."
        told = (
            f"{chosen} Name another with %%shard --model ID, where * stands for a name of that "
            "provider; set the default with: shard config set model ID"
        )
        if self.has_own:
            return told
        return f"{told}. A model on this machine needs no key: shard models pull"


def _cells(row: ModelRow) -> tuple[str, ...]:
    name = f"{row.model_id} (default)" if row.is_default else row.model_id
    where, size = row.note or ("cloud" if row.cloud else "local"), ""
    if row.size_bytes is not None:
        where, size = row.note or "this machine", show_bytes(row.size_bytes)
    refusal = row.refusal
    state = f"{refusal.message} → {refusal.satisfy}" if refusal else "ready"
    return name, where, size, state


def run_command(agents: KernelAgents, given: LineArguments) -> ModelsView:
    del agents, given
    rows = ask_command_line("models")
    return ModelsView(TypeAdapter(tuple[ModelRow, ...]).validate_python(rows))
