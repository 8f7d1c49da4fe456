"""`%shard help`: the commands and the options of `%%shard`, or one command."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shard_jupyter.surfaces.magics.cell_options import OPTIONS
from shard_jupyter.surfaces.magics.line.command_table import LINE_COMMANDS, LineCommand, Option
from shard_jupyter.surfaces.magics.line.line_arguments import LineArguments, find_command
from shard_jupyter.surfaces.magics.line.views.descriptors import make_table
from shard_jupyter.surfaces.magics.line.views.line_view import LineView
from shard_jupyter.types.render_descriptors import (
    RenderDescriptor,
    StatusDescriptor,
    TableDescriptor,
    TextDescriptor,
)

if TYPE_CHECKING:
    from shard_jupyter.surfaces.magics.kernel_agents import KernelAgents

CELL_OPTIONS = tuple(Option(option.name, option.help, option.metavar) for option in OPTIONS)
CELL_EXAMPLES: tuple[str, ...] = (
    "%%shard --mode plan --timeout 300",
    "What does @df hold, and does @file:notes.md say the same?",
)


@dataclass(frozen=True, repr=False)
class HelpView(LineView):
    """What is explained.

    Attributes:
        commands: those explained.
        options: those of `%%shard`; empty where one command is explained.
    """

    commands: tuple[LineCommand, ...]
    options: tuple[Option, ...] = ()

    def describe(self) -> tuple[RenderDescriptor, ...]:
        return tuple(self._overview() if self.options else self._of_one(self.commands[0]))

    def _overview(self) -> Iterator[RenderDescriptor]:
        rows = ((command.usage, command.summary) for command in self.commands)
        yield make_table(("Command", "What it shows or does"), rows)
        yield _option_table("Option of %%shard", self.options)
        yield TextDescriptor(text="\n".join(CELL_EXAMPLES))

    def _of_one(self, command: LineCommand) -> Iterator[RenderDescriptor]:
        yield StatusDescriptor(label=f"%shard {command.name}: {command.summary}.")
        arguments = [Option("", command.argument_meaning, command.argument)]
        options = [*(arguments if command.argument else ()), *command.options]
        if options:
            yield _option_table("May follow", options)
        yield TextDescriptor(text="\n".join(command.examples))


def _option_table(head: str, options: tuple[Option, ...] | list[Option]) -> TableDescriptor:
    rows = ((f"{option.name} {option.value}".strip(), option.meaning) for option in options)
    return make_table((head, "Meaning"), rows)


def run_command(agents: KernelAgents, given: LineArguments) -> HelpView:
    del agents
    if given.argument is None:
        return HelpView(tuple(LINE_COMMANDS.values()), CELL_OPTIONS)
    return HelpView((find_command(given.argument),))
