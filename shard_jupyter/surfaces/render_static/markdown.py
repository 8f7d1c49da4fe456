"""Descriptors as Markdown that any renderer shows harmlessly. Pure.

Names and commands stand in code spans, output in fenced blocks, sentences are escaped: nothing of a
descriptor is Markdown, but for the prose of a model, which is made safe first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import assert_never

from shard_jupyter.surfaces.render_static.plain import diff_body
from shard_jupyter.surfaces.render_static.prose.inline_markdown import (
    ends_in_address,
    escape_inline,
    escape_line,
    write_code,
)
from shard_jupyter.surfaces.render_static.prose.safe_markdown import (
    fence,
    make_safe_markdown,
)
from shard_jupyter.surfaces.render_static.visible_text import make_visible, make_visible_line
from shard_jupyter.surfaces.render_static.words.approval_words import (
    Fact,
    command_lines,
    join_facts,
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
    KvPair,
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


def render_all_markdown(descriptors: Iterable[RenderDescriptor]) -> str:
    return "\n\n".join(map(render_markdown, descriptors))


def render_markdown(descriptor: RenderDescriptor) -> str:  # noqa: C901, PLR0912 - one case a kind
    """Render one descriptor as whole blocks; no line end at the end."""
    match descriptor:
        case TextDescriptor():
            return fence(make_visible(descriptor.text.removesuffix("\n")), descriptor.language)
        case MarkdownDescriptor():
            return make_safe_markdown(descriptor.text)
        case KvDescriptor():
            return "\n".join(map(_pair, descriptor.pairs))
        case DiffDescriptor():
            head = f"{code(descriptor.path)} {show_change(descriptor)}"
            body = render_diff_lines(list(diff_body(descriptor)), descriptor.cut_lines)
            return f"{head}\n\n{body}".rstrip()
        case TreeDescriptor():
            return "\n".join(_tree(descriptor.root, 0))
        case TableDescriptor():
            return "\n".join(_table(descriptor))
        case PlanDescriptor():
            return "\n".join(_plan(descriptor))
        case ProgressDescriptor():
            return line(show_progress(descriptor))
        case StatusDescriptor():
            return sentence(TONE_WORDS[descriptor.tone] + descriptor.label)
        case ImageDescriptor():
            told = f"Image: {descriptor.alt or 'no description'} ({describe_image(descriptor)})"
            return line(told)
        case ApprovalDescriptor():
            return _approval(descriptor)
        case UsageDescriptor():
            return line(show_usage(descriptor))
        case Unknown():
            return fence(make_visible(fallback_text(descriptor.tag, descriptor.raw)))
        case _:
            assert_never(descriptor)


def text(data: str) -> str:
    """Write data as text; its line ends stay."""
    return _by_line(data, escape_line)


def line(data: str) -> str:
    return escape_line(make_visible_line(data))


def sentence(data: str) -> str:
    """Write a message; what stands in backticks in it becomes code."""
    return _by_line(data, _mark_code)


def _by_line(data: str, write: Callable[[str], str]) -> str:
    lines = (write(each.strip()) for each in make_visible(data).split("\n"))
    return "  \n".join(each for each in lines if each)


def _mark_code(data: str) -> str:
    parts = data.split("`")
    if len(parts) % 2 == 0 or any(map(ends_in_address, parts[::2])):
        return escape_line(data)
    written = [write_code(part) if at % 2 else escape_inline(part) for at, part in enumerate(parts)]
    if parts[0].strip():
        written[0] = escape_line(parts[0]) + (" " if parts[0].endswith(" ") else "")
    return "".join(written)


def code(data: str) -> str:
    """Write a name, path or command on one line."""
    return write_code(make_visible_line(data))


def render_diff_lines(lines: Sequence[str], hidden: int) -> str:
    """Render lines of a diff, and below how many more there were."""
    more = f"({hidden} more lines)" if hidden else ""
    shown = fence("\n".join(lines), "diff") if lines else ""
    return "\n\n".join(part for part in (shown, more) if part)


def _approval(approval: ApprovalDescriptor) -> str:
    told = line(f"{show_approval(approval)}: {approval.question}")
    more = render_question(approval) if approval.state == "waiting" else ""
    return f"{told}\n\n{more}" if more else told


def render_question(approval: ApprovalDescriptor) -> str:
    """Render all that is known of a call that waits for an answer; empty where nobody told."""
    if approval.facts is None:
        return ""
    parts = (render_exact(command_lines(approval.facts)), render_facts(tell_facts(approval)))
    return "\n\n".join(part for part in parts if part)


def render_exact(lines: Sequence[str]) -> str:
    """Render what would run, all of it."""
    return fence("\n".join(wrap_all(lines, MOST_COLUMNS))) if lines else ""


def render_facts(facts: Iterable[Fact]) -> str:
    """Render rows of facts; those without a label stand behind the one above."""
    rows = join_facts(facts, line, code)
    return "\n".join(f"- **{label}**: {told}" for label, told in rows)


def _pair(pair: KvPair) -> str:
    value = pair.v.removesuffix("\n").split("\n")
    return f"- {line(pair.k)}: {' ⏎ '.join(map(code, value))}"


def _tree(node: TreeNode, depth: int) -> Iterator[str]:
    detail = f" {line(node.detail)}" if node.detail else ""
    yield f"{'  ' * depth}- {code(node.label)}{detail}"
    if node.children and depth >= MAX_TREE_DEPTH:
        yield f"{'  ' * (depth + 1)}- …"
        return
    for child in node.children:
        yield from _tree(child, depth + 1)


def _table(table: TableDescriptor) -> Iterator[str]:
    head, rows = pad_rows(table)
    yield f"| {' | '.join(map(line, head))} |"
    yield f"|{' --- |' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(map(line, row))} |"
    if hidden := count_hidden_rows(table):
        yield f"\n({hidden})"


def _plan(plan: PlanDescriptor) -> Iterator[str]:
    yield f"{line(count_done(plan))}\n"
    for step in plan.steps:
        yield f"- [{'x' if step.done else ' '}] {line(step.text)}"
