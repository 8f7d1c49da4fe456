"""A tool that does wrong what a test wants done wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from shard_jupyter.contracts.tool import Arguments, Reach, ToolSpec
from shard_jupyter.contracts.tool_context import ToolContext
from shard_jupyter.types.render_descriptors import RenderDescriptor
from shard_jupyter.types.tool_results import ToolResult, text_result


@dataclass
class FaultyTool:
    """Does what the functions say, in the place that each is for."""

    name: str = "odd"
    is_read_only: bool = True
    kind: str = "none"
    on_parse: Callable[[Arguments], Arguments] = dict
    on_reach: Callable[[], Any] = lambda: None
    on_preview: Callable[[], Any] = tuple
    on_execute: Callable[[ToolContext], Any] = lambda context: text_result("ran")
    ran: list[Arguments] = field(default_factory=list)

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(name=self.name, description="", input_schema={"type": "object"})

    def parse(self, arguments: Arguments) -> Arguments:
        return self.on_parse(arguments)

    def reach(self, arguments: Arguments) -> Reach:
        self.on_reach()
        paths = tuple(filter(None, [arguments.get("path")]))
        return Reach(kind=self.kind, paths=paths, summary=f"do something {self.name}")

    async def preview(
        self, arguments: Arguments, context: ToolContext
    ) -> tuple[RenderDescriptor, ...]:
        return self.on_preview()

    async def execute(self, arguments: Arguments, context: ToolContext) -> ToolResult:
        self.ran.append(arguments)
        done = self.on_execute(context)
        return await done if hasattr(done, "__await__") else done
