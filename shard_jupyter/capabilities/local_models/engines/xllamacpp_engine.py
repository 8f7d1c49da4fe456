"""xllamacpp: llama.cpp's own server inside one wheel without dependencies. The usual engine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from shard_jupyter.capabilities.local_models.engines.engine import Dialect, EngineName, Launch
from shard_jupyter.capabilities.local_models.engines.launch_command import find_site, make_command
from shard_jupyter.types.refusals import Refusal

INSTALL = "pip install 'shard-jupyter[local]'"


class XllamacppEngine:
    name: EngineName = "xllamacpp"
    dialect: Dialect = "llama-server"
    port_from_log = False

    def __init__(self, site: Path | None = None) -> None:
        """Use the package in `site`; by default the one that an import would find."""
        self._site = site

    def find_problem(self) -> Refusal | None:
        if self._find_site() is not None:
            return None
        return Refusal(
            kind="needs_install",
            message="No engine for models on this machine is installed (xllamacpp).",
            satisfy=INSTALL,
        )

    def check_command(self) -> tuple[str, ...]:
        return ()

    def command(self, launch: Launch) -> tuple[str, ...]:
        return make_command(self.name, launch, site=self._find_site())

    def environment(self) -> Mapping[str, str]:
        return {}

    def _find_site(self) -> Path | None:
        return self._site or find_site("xllamacpp")
