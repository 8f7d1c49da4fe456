"""Descriptors in little room: each keeps its kind, and says what it leaves out. Pure."""

from __future__ import annotations

from shard_jupyter.surfaces.render_static.kept_ends import keep_ends
from shard_jupyter.surfaces.render_static.prose.short_prose import shorten_prose
from shard_jupyter.types.render_descriptors import (
    ApprovalDescriptor,
    DiffDescriptor,
    Hunk,
    KvDescriptor,
    MarkdownDescriptor,
    RenderDescriptor,
    StatusDescriptor,
    TableDescriptor,
    TextDescriptor,
    TreeDescriptor,
    TreeNode,
)


def size_of(part: RenderDescriptor) -> int:
    """About how many characters a descriptor takes."""
    match part:
        case TextDescriptor() | MarkdownDescriptor():
            return len(part.text) + 20
        case DiffDescriptor():
            lines = sum(len(line) + 1 for hunk in part.hunks for line in hunk.lines)
            return lines + len(part.path) + 60 * (1 + len(part.hunks))
        case StatusDescriptor():
            return len(part.label) + 20
        case KvDescriptor():
            return sum(len(pair.k) + len(pair.v) + 20 for pair in part.pairs)
        case TreeDescriptor():
            return _size_of_tree(part.root)
        case ApprovalDescriptor():
            told = sum(map(len, (part.question, part.by, part.rule, part.note, part.why)))
            return told + 40 + (len(repr(part.facts)) if part.facts is not None else 0)
        case _:
            return len(repr(part))


def _size_of_tree(node: TreeNode) -> int:
    return len(node.label) + len(node.detail) + 30 + sum(map(_size_of_tree, node.children))


def shorten_descriptor(part: RenderDescriptor, limit: int) -> RenderDescriptor | None:
    """Make a descriptor fit `limit` characters; None for one that cannot."""
    if size_of(part) <= limit:
        return part
    match part:
        case TextDescriptor() if limit > 100:
            return part.model_copy(update={"text": keep_ends(part.text, limit - 80)})
        case MarkdownDescriptor() if limit > 100:
            return part.model_copy(update={"text": shorten_prose(part.text, limit - 80)})
        case DiffDescriptor():
            return _shorten_diff(part, limit)
        case TableDescriptor() if len(part.rows) > 1:
            total = max(part.total_rows or 0, len(part.rows))
            fewer = {"rows": part.rows[: len(part.rows) // 2], "total_rows": total}
            return shorten_descriptor(part.model_copy(update=fewer), limit)
        case _:
            return None


def _shorten_diff(diff: DiffDescriptor, limit: int) -> DiffDescriptor:
    room = limit - len(diff.path) - 60
    hunks: list[Hunk] = []
    dropped = 0
    for hunk in diff.hunks:
        kept: list[str] = []
        room -= 60
        for line in hunk.lines:
            room -= len(line) + 1
            if room < 0:
                break
            kept.append(line)
        dropped += len(hunk.lines) - len(kept)
        if kept:
            hunks.append(hunk.model_copy(update={"lines": tuple(kept)}))
    return diff.model_copy(update={"hunks": tuple(hunks), "cut_lines": diff.cut_lines + dropped})
