"""A kernel in which a checked request is kept instead of being carried out.

What is tested with it ends where an agent would begin: three modules are stood in for, in the
kernel process alone.
"""

from __future__ import annotations

import ast
from typing import Any

from tests.jupyter.kernel import Kernel

_STAND_INS = """
import sys as _sys, types as _types

def _stand_in(name, **names):
    module = _types.ModuleType("shard_jupyter.surfaces.magics." + name)
    vars(module).update(names)
    _sys.modules[module.__name__] = module

_kept = []

def _keep(how, options, prompt, schema):
    known = {key: str(value) for key, value in vars(options).items() if value}
    _kept.append({
        "how": how, "text": prompt.text, "notices": prompt.notices, "options": known,
        "schema": schema and schema.name,
    })

async def _run_cell(shell, agents, options, prompt, schema):
    _keep("awaited", options, prompt, schema)

def _run_cell_blocking(shell, agents, options, prompt, schema):
    _keep("blocking", options, prompt, schema)

class _KernelAgents:
    closed = 0
    def all(self):
        return ()
    def close(self):
        _KernelAgents.closed += 1

_stand_in("cell_run", run_cell=_run_cell, run_cell_blocking=_run_cell_blocking)
_stand_in("kernel_agents", KernelAgents=_KernelAgents)
_stand_in("line_commands", run_line=lambda shell, agents, line: ("line", line))
"""


def keep_requests(kernel: Kernel) -> None:
    """Load the extension and the stand-ins; call once."""
    for code in ("%load_ext shard_jupyter", _STAND_INS):
        run = kernel.execute(code)
        assert run.status == "ok", run


def take_requests(kernel: Kernel) -> list[dict[str, Any]]:
    """The requests since the last call: how, text, notices, options, schema."""
    # As a result: other threads of the kernel print when they like.
    run = kernel.execute("ascii([_kept.copy(), _kept.clear()][0])")
    requests: list[dict[str, Any]] = ast.literal_eval(ast.literal_eval(run.result or ""))
    return requests
