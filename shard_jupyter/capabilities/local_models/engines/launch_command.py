"""How the child program is called, and where the package lies that it needs."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

from shard_jupyter.capabilities.local_models.engines.engine import EngineName, Launch

_PROGRAM = Path(__file__).with_name("launch") / "serve.py"


def make_command(
    engine: EngineName, launch: Launch, *, site: Path | None = None, program: Path | None = None
) -> tuple[str, ...]:
    """Write the command line; `-I` keeps whatever `PYTHON…` variables and folders say out of it."""
    command = [
        sys.executable, "-I", "-P", str(_PROGRAM), engine,
        "--lifeline", str(launch.lifeline), "--parent", str(launch.parent_pid),
        "--model", str(launch.model_path), "--context", str(launch.context_tokens),
        "--threads", str(launch.threads), "--idle", str(launch.idle_seconds),
    ]  # fmt: skip
    if site is not None:
        command += ["--site", str(site)]
    if program is not None:
        command += ["--program", str(program)]
    if launch.cpu_only:
        command.append("--cpu-only")
    return tuple(command)


def find_site(package: str) -> Path | None:
    """Return the folder that holds `package`, without importing it.

    The child has to be told: it sees neither `PYTHONPATH` nor what this process did to its path.
    """
    try:
        spec = find_spec(package)
    except ValueError:  # a module of that name was put together by hand
        return None
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent.parent
