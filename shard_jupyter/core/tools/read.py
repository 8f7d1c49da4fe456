"""The read tool: a part of a text file, or an image."""

from __future__ import annotations

import anyio
from pydantic import Field

from shard_jupyter.contracts.tool import Reach
from shard_jupyter.contracts.tool_context import ToolContext
from shard_jupyter.core.files.path_guard import locate_again, shown
from shard_jupyter.core.text.file_window import Image, Window, read_window
from shard_jupyter.core.text.truncation import (
    LINE_CHARS,
    clean_text,
    count_noun,
    cut_line,
    fit_lines,
)
from shard_jupyter.core.tools.tool_input import InputTool, ToolInput
from shard_jupyter.errors import ToolFailed
from shard_jupyter.types.content import TextBlock
from shard_jupyter.types.render_descriptors import (
    KvDescriptor,
    KvPair,
    RenderDescriptor,
    StatusDescriptor,
    TextDescriptor,
)
from shard_jupyter.types.tool_results import ToolResult

MAX_LINES = 2000
NOTE_BYTES = 300


class ReadInput(ToolInput):
    path: str
    offset: int = Field(default=1, ge=1)
    """first line"""
    limit: int = Field(default=MAX_LINES, ge=1, le=MAX_LINES)
    """lines"""


class ReadTool(InputTool[ReadInput]):
    name = "read"
    description = "Read a text file or an image. Long output says how to get the rest."
    read_only = True
    input_model = ReadInput

    def reach_of(self, call: ReadInput) -> Reach:
        return Reach(
            kind="read", paths=(call.path,), obeys_context=True, summary=f"read {shown(call.path)}"
        )

    async def show(self, call: ReadInput, context: ToolContext) -> tuple[RenderDescriptor, ...]:
        del context
        pairs = [KvPair(k="path", v=shown(call.path))]
        if call.offset > 1 or call.limit < MAX_LINES:
            pairs.append(KvPair(k="lines", v=f"{call.offset} to {call.offset + call.limit - 1}"))
        return (KvDescriptor(pairs=tuple(pairs)),)

    async def run(self, call: ReadInput, context: ToolContext) -> ToolResult:
        def look() -> Window | Image:
            return read_window(locate_again(context, call.path), call.offset, call.limit)

        seen = await anyio.to_thread.run_sync(look, abandon_on_cancel=True)
        if isinstance(seen, Image):
            block = await context.blobs.put(seen.data, seen.media_type)
            label = f"{shown(call.path)}: {seen.media_type}, {len(seen.data):,} bytes"
            return ToolResult(
                content=(TextBlock(text=label), block), render=(StatusDescriptor(label=label),)
            )
        return _text_result(call, seen, context.output_limit_bytes)


def _text_result(call: ReadInput, seen: Window, limit_bytes: int) -> ToolResult:
    if not seen.lines and (call.offset > 1 or seen.size_bytes):
        raise ToolFailed(
            f"{shown(call.path)} has {count_noun(seen.total_lines or 0, 'line')}; "
            f"there is no line {call.offset}."
        )
    lines = fit_lines([cut_line(clean_text(line)) for line in seen.lines], limit_bytes - NOTE_BYTES)
    note = _note(seen, len(lines))
    text = "\n".join(lines) + (f"\n{note}" if note else "") if seen.size_bytes else "(empty file)"
    label = f"{shown(call.path)}: {count_noun(len(lines), 'line')}"
    return ToolResult(
        content=(TextBlock(text=text),),
        render=(
            StatusDescriptor(label=label),
            TextDescriptor(text=text, language=_language(call.path)),
        ),
    )


def _note(seen: Window, shown_lines: int) -> str:
    """What the reader must know to get the rest, or to edit what it sees."""
    last = seen.first + shown_lines - 1
    notes = []
    if seen.total_lines is None or last < seen.total_lines:
        total = "" if seen.total_lines is None else f" of {seen.total_lines}"
        notes.append(f"lines {seen.first}-{last}{total}; continue with offset={last + 1}")
    elif seen.first > 1:
        notes.append(f"lines {seen.first}-{last} of {seen.total_lines}")
    if any(len(line) > LINE_CHARS for line in seen.lines[:shown_lines]):
        notes.append("long lines are cut: find a part of one with grep")
    if not seen.encoding.is_plain:
        how = "guessed to be " if seen.encoding.is_guessed else ""
        bom = " with BOM" if seen.encoding.bom else ""
        notes.append(f"encoding {how}{seen.encoding.codec}{bom}")
    if seen.has_crlf:
        notes.append("line ends are CRLF")
    return f"[{'. '.join(notes)}]" if notes else ""


def _language(path: str) -> str:
    name = path.rpartition("/")[2]
    return name.rpartition(".")[2].lower() if "." in name else ""
