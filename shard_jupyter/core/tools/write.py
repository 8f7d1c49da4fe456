"""The write tool: a whole file at once."""

from __future__ import annotations

import anyio

from shard_jupyter.contracts.tool import Reach
from shard_jupyter.contracts.tool_context import ToolContext
from shard_jupyter.core.files.file_change import read_if_there, refuse_other_content, replace_file
from shard_jupyter.core.files.path_guard import Located, locate_again, shown
from shard_jupyter.core.text.diff_hunks import describe_change
from shard_jupyter.core.text.text_encoding import detect_encoding
from shard_jupyter.core.text.text_lines import split_lines
from shard_jupyter.core.text.truncation import count_noun
from shard_jupyter.core.tools.tool_input import InputTool, ToolInput
from shard_jupyter.types.render_descriptors import RenderDescriptor, StatusDescriptor
from shard_jupyter.types.tool_results import ToolResult, text_result


class WriteInput(ToolInput):
    path: str
    content: str


class WriteTool(InputTool[WriteInput]):
    name = "write"
    description = "Create or overwrite a whole file. To change part of one, use edit."
    input_model = WriteInput

    def reach_of(self, call: WriteInput) -> Reach:
        return Reach(kind="write", paths=(call.path,), summary=f"write {shown(call.path)}")

    async def show(self, call: WriteInput, context: ToolContext) -> tuple[RenderDescriptor, ...]:
        look = await anyio.to_thread.run_sync(_look, context, call, abandon_on_cancel=True)
        return await _describe(call, *look, context)

    async def run(self, call: WriteInput, context: ToolContext) -> ToolResult:
        located, _ = await anyio.to_thread.run_sync(_look, context, call, abandon_on_cancel=True)
        async with context.locks.hold(located.real):
            # Looked at again: another call may have held the lock until now.
            located, old = await anyio.to_thread.run_sync(_look, context, call)
            refuse_other_content(context, call.path, old)
            await anyio.to_thread.run_sync(replace_file, located, call.content.encode("utf-8"))
        lines = count_noun(len(split_lines(call.content)), "line")
        text = f"Created {shown(call.path)} ({lines})."
        if old is not None:
            text = f"Overwrote {shown(call.path)} ({lines}; before: {_size_of(old)})."
        return text_result(
            text, *await _describe(call, located, old, context), changed_paths=[str(located.real)]
        )


def _look(context: ToolContext, call: WriteInput) -> tuple[Located, bytes | None]:
    located = locate_again(context, call.path)
    return located, read_if_there(located)


def _text_of(data: bytes) -> str | None:
    encoding = detect_encoding(data)
    return None if encoding is None else encoding.decode(data)


def _size_of(data: bytes) -> str:
    text = _text_of(data)
    if text is None:
        return f"binary, {len(data):,} bytes"
    return count_noun(len(split_lines(text)), "line")


async def _describe(
    call: WriteInput, located: Located, old: bytes | None, context: ToolContext
) -> tuple[RenderDescriptor, ...]:
    if located.secret and old is not None:
        # Views go to every client, into the log and into notebooks.
        label = f"replaces {len(old):,} bytes that are not shown: they may be keys or passwords"
        return (
            StatusDescriptor(label=label, tone="warn"),
            await describe_change(shown(call.path), "", call.content, context),
        )
    before = "" if old is None else _text_of(old)
    if before is None:
        return (
            StatusDescriptor(label=f"replaces {_size_of(old or b'')} with text", tone="warn"),
            await describe_change(shown(call.path), "", call.content, context),
        )
    return (await describe_change(shown(call.path), before, call.content, context),)
