"""What tools there are this turn (Shard §4.2): names, and which of them a mode offers."""

from __future__ import annotations

from collections.abc import Iterable

from shard_jupyter.contracts.mode import Mode
from shard_jupyter.contracts.tool import Tool
from shard_jupyter.core.modes.toolset import is_offered


class ToolRegistry:
    """One tool a name. A later one of the same name takes the earlier one's place."""

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            self.add(tool)

    def add(self, tool: Tool) -> Tool | None:
        """Return the tool that was replaced, so that the caller can say so."""
        name = tool.spec.name
        replaced = self._tools.get(name)
        self._tools[name] = tool
        return replaced

    def remove(self, name: str) -> Tool | None:
        """Take a tool away, as a client does that hosted it and left."""
        return self._tools.pop(name, None)

    def find(self, name: str) -> Tool | None:
        return self._tools.get(name)

    @property
    def names(self) -> tuple[str, ...]:
        """In the order of first registration."""
        return tuple(self._tools)

    def offered(self, mode: Mode) -> tuple[Tool, ...]:
        """The mode's tools, always in the same order, so that a prompt's prefix can be cached."""
        return tuple(
            tool for name, tool in self._tools.items() if is_offered(name, tool.is_read_only, mode)
        )
