"""Descriptors as plain text, for a terminal or a file. Pure.

Every text in a descriptor is data: none of it can steer a terminal or leave its line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import assert_never

from shard_jupyter.surfaces.render_static.visible_text import make_visible, make_visible_line
from shard_jupyter.types.render_descriptors import (
    DiffDescriptor,
    KvDescriptor,
    ProgressDescriptor,
    RenderDescriptor,
    StatusDescriptor,
    TextDescriptor,
    Tone,
    TreeDescriptor,
    TreeNode,
)
from shard_jupyter.types.wire_model import Unknown

_TONE_WORDS: dict[Tone, str] = {
    "info": "",
    "success": "Done: ",
    "warn": "Warning: ",
    "error": "Error: ",
}
_INDENT = "  "


def render_all(descriptors: Iterable[RenderDescriptor]) -> str:
    """Render one after the other, each starting on its own line; no line end at the end."""
    return "\n".join(render_plain(descriptor) for descriptor in descriptors)


def render_plain(descriptor: RenderDescriptor) -> str:
    """Render one descriptor; no line end at the end."""
    match descriptor:
        case TextDescriptor():
            return make_visible(descriptor.text.removesuffix("\n"))
        case KvDescriptor():
            pairs = ((make_visible_line(pair.k), make_visible(pair.v)) for pair in descriptor.pairs)
            return "\n".join(f"{key}: {_hang(value)}" for key, value in pairs)
        case DiffDescriptor():
            return "\n".join(_diff_lines(descriptor))
        case TreeDescriptor():
            return "\n".join(_tree_lines(descriptor.root, 0))
        case ProgressDescriptor():
            return _progress(descriptor)
        case StatusDescriptor():
            return _TONE_WORDS[descriptor.tone] + make_visible(descriptor.label)
        case Unknown():
            return make_visible(str(descriptor.raw.get("fallback", f"({descriptor.tag})")))
        case _:
            assert_never(descriptor)


def _hang(text: str) -> str:
    return text.replace("\n", f"\n{_INDENT}")


def _diff_lines(diff: DiffDescriptor) -> Iterator[str]:
    yield f"{make_visible_line(diff.path)}  +{diff.added} -{diff.removed}"
    for hunk in diff.hunks:
        old = f"{hunk.old_start},{hunk.old_lines}"
        yield f"@@ -{old} +{hunk.new_start},{hunk.new_lines} @@"
        yield from (make_visible(line.removesuffix("\n")).replace("\n", "⏎") for line in hunk.lines)
    if diff.cut_lines:
        yield f"({diff.cut_lines} more lines)"


def _tree_lines(node: TreeNode, depth: int) -> Iterator[str]:
    detail = f"  {make_visible_line(node.detail)}" if node.detail else ""
    yield f"{_INDENT * depth}{make_visible_line(node.label)}{detail}"
    for child in node.children:
        yield from _tree_lines(child, depth + 1)


def _progress(progress: ProgressDescriptor) -> str:
    total = "" if progress.total is None else f" of {progress.total:g}"
    return f"{make_visible_line(progress.label)} {progress.current:g}{total}"
