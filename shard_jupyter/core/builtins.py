"""What the core itself brings, as extensions like any other."""

from __future__ import annotations

from shard_jupyter.contracts.extension_api import ExtensionApi
from shard_jupyter.core.modes.builtin_modes import BUILTIN_MODES
from shard_jupyter.core.modes.plan import extract_plan
from shard_jupyter.core.tools import builtin_tools


def register_tools(api: ExtensionApi) -> None:
    for tool in builtin_tools():
        api.register_tool(tool)


def register_modes(api: ExtensionApi) -> None:
    for mode in BUILTIN_MODES:
        api.register_mode(mode)
    api.register_turn_end_extractor("plan", extract_plan)
