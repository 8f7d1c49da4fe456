"""The find tool: files by name."""

from __future__ import annotations

from pydantic import Field

from shard_jupyter.contracts.tool import Reach
from shard_jupyter.contracts.tool_context import ToolContext
from shard_jupyter.core.files.path_guard import shown
from shard_jupyter.core.text.truncation import count_noun, fit_lines
from shard_jupyter.core.tools.search.search_scope import files_to_search, joined
from shard_jupyter.core.tools.tool_input import InputTool, ToolInput
from shard_jupyter.types.render_descriptors import (
    KvDescriptor,
    KvPair,
    RenderDescriptor,
    StatusDescriptor,
    TextDescriptor,
)
from shard_jupyter.types.tool_results import ToolResult, text_result

DEFAULT_LIMIT = 200
NOTE_BYTES = 500


class FindInput(ToolInput):
    pattern: str = Field(min_length=1)
    """glob, as *.py or src/**/test_*.py"""
    path: str = "."
    limit: int = Field(default=DEFAULT_LIMIT, ge=1, le=2000)


class FindTool(InputTool[FindInput]):
    name = "find"
    description = "Find files by name, by the same ignore rules as grep."
    read_only = True
    input_model = FindInput

    def reach_of(self, call: FindInput) -> Reach:
        summary = f"find {shown(call.pattern)} in {shown(call.path)}"
        return Reach(kind="read", paths=(call.path,), obeys_context=True, summary=summary)

    async def show(self, call: FindInput, context: ToolContext) -> tuple[RenderDescriptor, ...]:
        del context
        pairs = (KvPair(k="pattern", v=shown(call.pattern)), KvPair(k="path", v=shown(call.path)))
        return (KvDescriptor(pairs=pairs),)

    async def run(self, call: FindInput, context: ToolContext) -> ToolResult:
        listing, prefix = await files_to_search(call.path, call.pattern, context)
        names = [shown(joined(prefix, name)) for name in listing.names[: call.limit]]
        fitting = fit_lines(names, context.output_limit_bytes - NOTE_BYTES)
        found = count_noun(len(listing.names), "file")
        notes = []
        if not fitting:
            notes.append("no file of that name")
        elif len(fitting) < len(listing.names):
            notes.append(f"{len(fitting)} of {found} shown: narrow the pattern or raise limit")
        notes += [listing.remark()] if listing.remark() else []
        text = "\n".join([*fitting, *([f"[{'. '.join(notes)}]"] if notes else [])])
        return text_result(text, StatusDescriptor(label=found), TextDescriptor(text=text))
