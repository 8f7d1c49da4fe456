"""The ls tool: what is in one folder."""

from __future__ import annotations

import os
import stat

import anyio

from shard_jupyter.contracts.tool import Reach
from shard_jupyter.contracts.tool_context import ToolContext
from shard_jupyter.core.files.path_guard import locate_again, shown
from shard_jupyter.core.files.safe_open import open_folder, telling
from shard_jupyter.core.text.truncation import count_noun, fit_lines
from shard_jupyter.core.tools.tool_input import InputTool, ToolInput
from shard_jupyter.types.render_descriptors import (
    KvDescriptor,
    KvPair,
    RenderDescriptor,
    TreeDescriptor,
    TreeNode,
)
from shard_jupyter.types.tool_results import ToolResult, text_result

MAX_ENTRIES = 500
NOTE_BYTES = 200


class LsInput(ToolInput):
    path: str = "."


class LsTool(InputTool[LsInput]):
    name = "ls"
    description = "List one folder, hidden files too: folders end in /, files show bytes."
    read_only = True
    input_model = LsInput

    def reach_of(self, call: LsInput) -> Reach:
        return Reach(
            kind="read", paths=(call.path,), obeys_context=True, summary=f"ls {shown(call.path)}"
        )

    async def show(self, call: LsInput, context: ToolContext) -> tuple[RenderDescriptor, ...]:
        del context
        return (KvDescriptor(pairs=(KvPair(k="path", v=shown(call.path)),)),)

    async def run(self, call: LsInput, context: ToolContext) -> ToolResult:
        entries = await anyio.to_thread.run_sync(_list, context, call.path, abandon_on_cancel=True)
        lines = [f"{name}  {detail}".rstrip() for name, detail in entries[:MAX_ENTRIES]]
        fitting = fit_lines(lines, context.output_limit_bytes - NOTE_BYTES)
        text = "\n".join(fitting) or "(empty folder)"
        if len(fitting) < len(entries):
            found = count_noun(len(entries), "name")
            text += f"\n[{len(fitting)} of {found} shown: use find with a pattern]"
        nodes = (TreeNode(label=name, detail=detail) for name, detail in entries[: len(fitting)])
        tree = TreeDescriptor(root=TreeNode(label=shown(call.path), children=tuple(nodes)))
        return text_result(text, tree)


def _list(context: ToolContext, given: str) -> list[tuple[str, str]]:
    """Names with their marks, and sizes; folders first."""
    located = locate_again(context, given)
    with open_folder(located) as folder, telling(located), os.scandir(folder) as scan:
        entries = [_describe(entry, folder) for entry in scan]
    return sorted(entries, key=lambda entry: (not entry[0].endswith("/"), entry[0]))


def _describe(entry: os.DirEntry[str], folder: int) -> tuple[str, str]:
    name = shown(entry.name)
    if entry.is_symlink():
        try:
            return name, f"-> {shown(os.readlink(entry.name, dir_fd=folder))}"
        except OSError:
            return name, "?"
    if entry.is_dir(follow_symlinks=False):
        return f"{name}/", ""
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError:
        return name, "?"
    return name, f"{status.st_size:,}" if stat.S_ISREG(status.st_mode) else "(special)"
