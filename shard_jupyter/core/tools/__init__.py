"""The seven tools that every agent has."""

from __future__ import annotations

from shard_jupyter.contracts.tool import Tool
from shard_jupyter.core.tools.bash import BashTool
from shard_jupyter.core.tools.edit import EditTool
from shard_jupyter.core.tools.find import FindTool
from shard_jupyter.core.tools.grep import GrepTool
from shard_jupyter.core.tools.ls import LsTool
from shard_jupyter.core.tools.read import ReadTool
from shard_jupyter.core.tools.write import WriteTool


def builtin_tools() -> tuple[Tool, ...]:
    """In the order in which a model is told of them. They hold no state."""
    return (ReadTool(), WriteTool(), EditTool(), BashTool(), GrepTool(), FindTool(), LsTool())
