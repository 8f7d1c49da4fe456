"""How the programs beside this Python are called from the shell of the person."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Programs:
    """Each as it can be typed: a bare name where PATH leads to it."""

    shard: str
    pip: str
    jupyter: str
    has_lab: bool


def find_programs(environ: Mapping[str, str], cwd: Path) -> Programs:
    return Programs(
        shard=_name("shard", environ, cwd),
        pip=_name("pip", environ, cwd),
        jupyter=_name("jupyter", environ, cwd),
        has_lab=importlib.util.find_spec("jupyterlab") is not None,
    )


def _name(program: str, environ: Mapping[str, str], cwd: Path) -> str:
    beside = Path(sys.executable).with_name(program)
    found = shutil.which(program, path=environ.get("PATH", ""))
    if not beside.exists() or (found is not None and Path(found).samefile(beside)):
        return program
    return str(beside.relative_to(cwd)) if beside.is_relative_to(cwd) else str(beside)
