"""What the core itself brings, as extensions like any other."""

from __future__ import annotations

from shard_jupyter.contracts.extension_api import ExtensionApi
from shard_jupyter.core.modes.build import BUILD
from shard_jupyter.core.modes.plan import PLAN, extract_plan
from shard_jupyter.core.tools import builtin_tools


def register_tools(api: ExtensionApi) -> None:
    for tool in builtin_tools():
        api.register_tool(tool)


def register_modes(api: ExtensionApi) -> None:
    api.register_mode(BUILD)
    api.register_mode(PLAN)
    api.register_turn_end_extractor("plan", extract_plan)
