"""`%shard COMMAND`: choose the command, and return what it found as an object that can be shown.

Nothing is printed. Only the chosen command's module is imported, and with it all that is heavy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from shard_jupyter.surfaces.magics.line.interruptible import interruptible
from shard_jupyter.surfaces.magics.line.line_arguments import read_line

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from shard_jupyter.surfaces.magics.kernel_agents import KernelAgents

_FOLDER = "shard_jupyter.surfaces.magics.line.commands"


def run_line(shell: InteractiveShell, agents: KernelAgents, line: str) -> object:
    """Run one `%shard` line to its end. Blocks; an interrupt ends whatever it has started.

    Raises:
        ShardError: the line is wrong, or what it asks for cannot be had; says the next step.
        KeyboardInterrupt: the person interrupts.
    """
    del shell
    given = read_line(line)
    with interruptible():
        module = importlib.import_module(f"{_FOLDER}.{given.command.name}")
        view: object = module.run_command(agents, given)
    return view
