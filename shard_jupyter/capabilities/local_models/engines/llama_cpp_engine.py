"""llama-cpp-python and its server, for people with a compiler."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from shard_jupyter.capabilities.local_models.engines.engine import Dialect, EngineName, Launch
from shard_jupyter.capabilities.local_models.engines.launch_command import find_site, make_command
from shard_jupyter.types.refusals import Refusal

INSTALL = "pip install 'shard-jupyter[llama-cpp]'"
_NEEDED = (
    "llama_cpp", "uvicorn", "fastapi", "sse_starlette", "starlette_context", "pydantic_settings",
)  # fmt: skip


class LlamaCppEngine:
    name: EngineName = "llama-cpp-python"
    dialect: Dialect = "llama-cpp-python"
    port_from_log = False

    def __init__(self, site: Path | None = None) -> None:
        """Use the packages in `site`; by default those that an import would find."""
        self._site = site

    def find_problem(self) -> Refusal | None:
        missing = [package for package in _NEEDED if not self._has(package)]
        if not missing:
            return None
        return Refusal(
            kind="needs_install",
            message=f"llama-cpp-python and its server are not installed ({missing[0]}).",
            satisfy=INSTALL,
        )

    def check_command(self) -> tuple[str, ...]:
        return ()

    def command(self, launch: Launch) -> tuple[str, ...]:
        return make_command(self.name, launch, site=self._site or find_site("llama_cpp"))

    def environment(self) -> Mapping[str, str]:
        return {}

    def _has(self, package: str) -> bool:
        if self._site is not None:
            return (self._site / package).is_dir()
        return find_site(package) is not None
