"""Descriptors as plain text, for a terminal or a file. Pure.

Every text in a descriptor is data: none of it can steer a terminal or leave its line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import assert_never

from shard_jupyter.surfaces.render_static.visible_text import make_visible, make_visible_line
from shard_jupyter.surfaces.render_static.words.approval_words import (
    align,
    command_lines,
    tell_facts,
)
from shard_jupyter.surfaces.render_static.words.descriptor_words import (
    MAX_TREE_DEPTH,
    TONE_WORDS,
    count_done,
    count_hidden_rows,
    describe_image,
    fallback_text,
    pad_rows,
    show_approval,
    show_change,
    show_progress,
    show_usage,
)
from shard_jupyter.surfaces.render_static.words.wrapped_lines import MOST_COLUMNS, wrap_all
from shard_jupyter.types.render_descriptors import (
    ApprovalDescriptor,
    DiffDescriptor,
    ImageDescriptor,
    KvDescriptor,
    MarkdownDescriptor,
    PlanDescriptor,
    ProgressDescriptor,
    RenderDescriptor,
    StatusDescriptor,
    TableDescriptor,
    TextDescriptor,
    TreeDescriptor,
    TreeNode,
    UsageDescriptor,
)
from shard_jupyter.types.wire_model import Unknown

_INDENT = "  "


def render_all(descriptors: Iterable[RenderDescriptor]) -> str:
    """Render one after the other, each starting on its own line; no line end at the end."""
    return "\n".join(render_plain(descriptor) for descriptor in descriptors)


def render_plain(descriptor: RenderDescriptor) -> str:  # noqa: C901, PLR0912 - one case a kind
    """Render one descriptor; no line end at the end."""
    match descriptor:
        case TextDescriptor():
            return make_visible(descriptor.text.removesuffix("\n"))
        case MarkdownDescriptor():
            return show_prose(descriptor.text)
        case KvDescriptor():
            pairs = ((make_visible_line(pair.k), make_visible(pair.v)) for pair in descriptor.pairs)
            return "\n".join(f"{key}: {_hang(value)}" for key, value in pairs)
        case DiffDescriptor():
            return "\n".join(_diff_lines(descriptor))
        case TreeDescriptor():
            return "\n".join(_tree_lines(descriptor.root, 0))
        case TableDescriptor():
            return "\n".join(_table_lines(descriptor))
        case PlanDescriptor():
            return "\n".join(_plan_lines(descriptor))
        case ProgressDescriptor():
            return make_visible_line(show_progress(descriptor))
        case StatusDescriptor():
            return TONE_WORDS[descriptor.tone] + make_visible(descriptor.label)
        case ImageDescriptor():
            told = f"[image: {descriptor.alt or 'no description'}, {describe_image(descriptor)}]"
            return make_visible_line(told)
        case ApprovalDescriptor():
            return "\n".join(_approval_lines(descriptor))
        case UsageDescriptor():
            return show_usage(descriptor)
        case Unknown():
            return make_visible(fallback_text(descriptor.tag, descriptor.raw))
        case _:
            assert_never(descriptor)


def show_prose(text: str) -> str:
    """Prose as its author wrote it, which is how Markdown is meant to be read."""
    return make_visible(text.replace("\r\n", "\n").strip("\n"))


def _approval_lines(approval: ApprovalDescriptor) -> Iterator[str]:
    yield make_visible_line(f"{show_approval(approval)}: {approval.question}")
    if approval.state == "waiting":
        yield from question_lines(approval)


def question_lines(approval: ApprovalDescriptor) -> Iterator[str]:
    """Yield all that is known of a call that waits for an answer; nothing where nobody told."""
    if approval.facts is not None:
        rows = wrap_all(command_lines(approval.facts), MOST_COLUMNS)
        yield from (f"{_INDENT}│ {row}" for row in rows)
        yield from (f"{_INDENT}{row}" for row in align(tell_facts(approval)))


def _hang(text: str) -> str:
    return text.replace("\n", f"\n{_INDENT}")


def _diff_lines(diff: DiffDescriptor) -> Iterator[str]:
    yield f"{make_visible_line(diff.path)}  {show_change(diff)}"
    yield from diff_body(diff)
    if diff.cut_lines:
        yield f"({diff.cut_lines} more lines)"


def diff_body(diff: DiffDescriptor) -> Iterator[str]:
    """Yield hunk heads and lines, each one line whatever it holds."""
    for hunk in diff.hunks:
        old = f"{hunk.old_start},{hunk.old_lines}"
        yield f"@@ -{old} +{hunk.new_start},{hunk.new_lines} @@"
        yield from (make_visible(line.removesuffix("\n")).replace("\n", "⏎") for line in hunk.lines)


def _tree_lines(node: TreeNode, depth: int) -> Iterator[str]:
    detail = f"  {make_visible_line(node.detail)}" if node.detail else ""
    yield f"{_INDENT * depth}{make_visible_line(node.label)}{detail}"
    if node.children and depth >= MAX_TREE_DEPTH:
        yield f"{_INDENT * (depth + 1)}…"
        return
    for child in node.children:
        yield from _tree_lines(child, depth + 1)


def _table_lines(table: TableDescriptor) -> Iterator[str]:
    head, rows = pad_rows(table)
    cells = [[make_visible_line(cell) for cell in row] for row in (head, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        fitted = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(fitted).rstrip()
    if hidden := count_hidden_rows(table):
        yield f"({hidden})"


def _plan_lines(plan: PlanDescriptor) -> Iterator[str]:
    yield make_visible_line(count_done(plan))
    for step in plan.steps:
        yield f"[{'x' if step.done else ' '}] {make_visible_line(step.text)}"
