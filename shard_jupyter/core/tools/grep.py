"""The grep tool: lines that match, wherever they are in the workspace."""

from __future__ import annotations

from pydantic import Field, field_validator

from shard_jupyter.contracts.tool import Reach
from shard_jupyter.contracts.tool_context import ToolContext
from shard_jupyter.core.files.path_guard import shown
from shard_jupyter.core.text.truncation import clean_text, count_noun, fit_lines
from shard_jupyter.core.tools.search.file_listing import Listing
from shard_jupyter.core.tools.search.line_search import SEARCH_SECONDS, LineQuery, search_lines
from shard_jupyter.core.tools.search.match_records import MatchLine, MatchReader
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

DEFAULT_LIMIT = 100
NOTE_BYTES = 500


class GrepInput(ToolInput):
    pattern: str = Field(min_length=1)
    """regular expression"""
    path: str = "."
    glob: str = ""
    """file names, as *.py"""
    ignore_case: bool = False
    literal: bool = False
    context: int = Field(default=0, ge=0, le=10)
    """lines around"""
    limit: int = Field(default=DEFAULT_LIMIT, ge=1, le=1000)

    @field_validator("pattern")
    @classmethod
    def check_pattern(cls, pattern: str) -> str:
        if "\0" in pattern or "\n" in pattern:
            raise ValueError("one line of text at a time is searched")
        return pattern


class GrepTool(InputTool[GrepInput]):
    name = "grep"
    description = "Search file contents. Leaves out what .gitignore names, unless path is in it."
    read_only = True
    input_model = GrepInput

    def reach_of(self, call: GrepInput) -> Reach:
        summary = f"grep {shown(call.pattern)} in {shown(call.path)}"
        return Reach(kind="read", paths=(call.path,), obeys_context=True, summary=summary)

    async def show(self, call: GrepInput, context: ToolContext) -> tuple[RenderDescriptor, ...]:
        del context
        pairs = [KvPair(k="pattern", v=shown(call.pattern)), KvPair(k="path", v=shown(call.path))]
        if call.glob:
            pairs.append(KvPair(k="files", v=shown(call.glob)))
        return (KvDescriptor(pairs=tuple(pairs)),)

    async def run(self, call: GrepInput, context: ToolContext) -> ToolResult:
        listing, prefix = await files_to_search(call.path, call.glob, context)
        reader = MatchReader(call.limit)
        query = LineQuery(call.pattern, call.literal, call.ignore_case, call.context)
        finished = await search_lines(query, listing.folder, listing.names, reader, context)
        return _result(call, listing, reader, prefix, finished, context.output_limit_bytes)


def _result(
    call: GrepInput,
    listing: Listing,
    reader: MatchReader,
    prefix: str,
    finished: bool,
    limit_bytes: int,
) -> ToolResult:
    found = count_noun(reader.matches, "matching line")
    searched = count_noun(len(listing.names), "file")
    lines = [_line_of(match, prefix, call.context > 0) for match in reader.lines]
    fitting = fit_lines(lines, limit_bytes - NOTE_BYTES)
    notes = []
    if not reader.matches:
        notes.append(f"no match in {searched}")
    shown_matches = sum(match.column is not None for match in reader.lines[: len(fitting)])
    if shown_matches < reader.matches:
        notes.append(f"{shown_matches} of {found} shown: narrow the search or raise limit")
    if not finished:
        notes.append(f"stopped after {SEARCH_SECONDS} s, so this is not all")
    notes += [listing.remark()] if listing.remark() else []
    text = "\n".join([*fitting, *([f"[{'. '.join(notes)}]"] if notes else [])])
    label = f"{found} in {count_noun(reader.files, 'file')}, {searched} searched"
    return text_result(text, StatusDescriptor(label=label), TextDescriptor(text=text))


def _line_of(match: MatchLine, prefix: str, has_context: bool) -> str:
    """`path:line:text`, as grep prints it; `path-line-text` for context."""
    name = shown(joined(prefix, match.path))
    mark = "-" if has_context and match.column is None else ":"
    return f"{name}{mark}{match.line}{mark}{clean_text(match.text)}"
