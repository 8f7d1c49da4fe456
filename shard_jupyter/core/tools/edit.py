"""The edit tool: replace a piece of text in a file, and nothing else in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import anyio
from pydantic import Field, model_validator

from shard_jupyter.contracts.tool import Reach
from shard_jupyter.contracts.tool_context import ToolContext
from shard_jupyter.core.files.file_change import read_whole, refuse_other_content, replace_file
from shard_jupyter.core.files.path_guard import Located, locate_again, shown
from shard_jupyter.core.text.diff_hunks import describe_change
from shard_jupyter.core.text.text_encoding import detect_encoding
from shard_jupyter.core.text.text_lines import line_number_at
from shard_jupyter.core.text.truncation import count_noun, fit_lines
from shard_jupyter.core.tools.edit_plan import EditPlan, apply_plan, plan_edit, splice
from shard_jupyter.core.tools.tool_input import InputTool, ToolInput
from shard_jupyter.errors import ToolFailed
from shard_jupyter.types.render_descriptors import (
    DiffDescriptor,
    RenderDescriptor,
    StatusDescriptor,
)
from shard_jupyter.types.tool_results import ToolResult, text_result

APPROXIMATE = "matched approximately (blanks, quotes or dashes differ)"
MAX_ECHOED_LINES = 60
MAX_ECHOED_BYTES = 8192


class EditInput(ToolInput):
    path: str
    old: str = Field(min_length=1)
    """exact text, unique in the file"""
    new: str
    all: bool = False
    """replace every occurrence"""

    @model_validator(mode="after")
    def check_difference(self) -> Self:
        if self.old == self.new:
            raise ValueError("old and new are the same text")
        return self


@dataclass(frozen=True)
class _Change:
    located: Located
    plan: EditPlan
    before: str
    after: str
    data: bytes


class EditTool(InputTool[EditInput]):
    name = "edit"
    description = "Replace text in a file; the rest keeps its bytes. \\n matches any line end."
    input_model = EditInput

    def reach_of(self, call: EditInput) -> Reach:
        return Reach(kind="write", paths=(call.path,), summary=f"edit {shown(call.path)}")

    async def show(self, call: EditInput, context: ToolContext) -> tuple[RenderDescriptor, ...]:
        change = await anyio.to_thread.run_sync(_prepare, context, call, abandon_on_cancel=True)
        return await _describe(call, change, context)

    async def run(self, call: EditInput, context: ToolContext) -> ToolResult:
        located = await anyio.to_thread.run_sync(
            locate_again, context, call.path, abandon_on_cancel=True
        )
        async with context.locks.hold(located.real):
            change = await anyio.to_thread.run_sync(_prepare, context, call)
            await anyio.to_thread.run_sync(replace_file, change.located, change.data)
        render = await _describe(call, change, context)
        return text_result(
            _say(call, change, render), *render, changed_paths=[str(change.located.real)]
        )


def _prepare(context: ToolContext, call: EditInput) -> _Change:
    """Read the file as it is now and work out the new bytes. Blocking, writes nothing."""
    located = locate_again(context, call.path)
    data = read_whole(located)
    refuse_other_content(context, call.path, data)
    encoding = detect_encoding(data)
    if encoding is None:
        raise ToolFailed(f"{shown(call.path)} is binary ({len(data):,} bytes).")
    text = encoding.decode(data)
    plan = plan_edit(text, call.old, call.new, everywhere=call.all)
    new_data = splice(data, text, encoding, plan)
    return _Change(located, plan, text, apply_plan(text, plan), new_data)


async def _describe(
    call: EditInput, change: _Change, context: ToolContext
) -> tuple[RenderDescriptor, ...]:
    if change.located.secret:
        # Views go to every client, into the log and into notebooks: no line around is shown.
        label = "the rest of the file is not shown: it may be keys or passwords"
        return (
            StatusDescriptor(label=label, tone="warn"),
            await describe_change(shown(call.path), call.old, call.new, context),
        )
    diff = await describe_change(shown(call.path), change.before, change.after, context)
    if change.plan.is_approximate:
        return (StatusDescriptor(label=APPROXIMATE, tone="warn"), diff)
    return (diff,)


def _say(call: EditInput, change: _Change, render: tuple[RenderDescriptor, ...]) -> str:
    places = change.plan.replacements
    where = f"line {line_number_at(change.before, places[0].start)}"
    if len(places) > 1:
        where = f"{count_noun(len(places), 'place')}, first {where}"
    text = f"Edited {shown(call.path)} ({where})."
    if not change.plan.is_approximate:
        return text
    lines = [line for part in render if isinstance(part, DiffDescriptor) for line in _lines(part)]
    echoed = "\n".join(fit_lines(lines[:MAX_ECHOED_LINES], MAX_ECHOED_BYTES))
    return f"{text} The old text was {APPROXIMATE}. What changed:\n{echoed}"


def _lines(diff: DiffDescriptor) -> list[str]:
    return [line for hunk in diff.hunks for line in hunk.lines]
