"""Descriptors as escaped, semantic HTML that needs no style, no script and no other file. Pure.

Only elements that sanitisers keep (GitHub, JupyterLab): nothing carries a class, an id or a style.
Every text of a descriptor is data. In text that is not code `$` stands in an element of its own,
since notebooks typeset what stands between two of them.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Sequence
from typing import assert_never

from shard_jupyter.surfaces.render_static.plain import diff_body
from shard_jupyter.surfaces.render_static.prose.prose_html import preformatted, render_prose
from shard_jupyter.surfaces.render_static.visible_text import make_visible, make_visible_line
from shard_jupyter.surfaces.render_static.words.approval_words import (
    Fact,
    command_lines,
    fold_words,
    join_facts,
    split_long,
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


def render_all_html(descriptors: Iterable[RenderDescriptor]) -> str:
    return "".join(map(render_html, descriptors))


def render_html(descriptor: RenderDescriptor) -> str:  # noqa: C901, PLR0912 - one case a kind
    """Render one descriptor as whole elements, each ending in a line end."""
    match descriptor:
        case TextDescriptor():
            return block(descriptor.text)
        case MarkdownDescriptor():
            return render_prose(descriptor.text)
        case KvDescriptor():
            return f"<ul>\n{''.join(map(_pair, descriptor.pairs))}</ul>\n"
        case DiffDescriptor():
            head = f"<p>{code(descriptor.path)} {show_change(descriptor)}</p>\n"
            return head + render_diff_lines(list(diff_body(descriptor)), descriptor.cut_lines)
        case TreeDescriptor():
            return f"<ul>\n{''.join(_tree(descriptor.root, 0))}</ul>\n"
        case TableDescriptor():
            return "".join(_table(descriptor))
        case PlanDescriptor():
            return "".join(_plan(descriptor))
        case ProgressDescriptor():
            return f"<p>{line(show_progress(descriptor))}</p>\n"
        case StatusDescriptor():
            return f"<p>{TONE_WORDS[descriptor.tone]}{sentence(descriptor.label)}</p>\n"
        case ImageDescriptor():
            told = f"Image: {descriptor.alt or 'no description'} ({describe_image(descriptor)})"
            return f"<p>{line(told)}</p>\n"
        case ApprovalDescriptor():
            return _approval(descriptor)
        case UsageDescriptor():
            return f"<p>{line(show_usage(descriptor))}</p>\n"
        case Unknown():
            return block(fallback_text(descriptor.tag, descriptor.raw))
        case _:
            assert_never(descriptor)


def text(data: str) -> str:
    """Write data as text; its line ends stay."""
    shown = html.escape(make_visible(data), quote=False).replace("$", "<span>$</span>")
    return shown.replace("\n", "<br>\n")


def line(data: str) -> str:
    return text(make_visible_line(data))


def sentence(data: str) -> str:
    """Write a message; what stands in backticks in it becomes code."""
    parts = data.split("`")
    if len(parts) % 2 == 0:
        return text(data)
    return "".join(code(part) if at % 2 else text(part) for at, part in enumerate(parts))


def code(data: str) -> str:
    """Write a name, path or command on one line."""
    return f"<code>{html.escape(make_visible_line(data), quote=False)}</code>"


def block(data: str) -> str:
    return preformatted(make_visible(data.removesuffix("\n")))


def render_diff_lines(lines: Sequence[str], hidden: int) -> str:
    """Render lines of a diff, and below how many more there were.

    The signs tell what was added. `ins` and `del` would underline and strike the text, and an
    underline hides every underscore.
    """
    more = f"<p>({hidden} more lines)</p>\n" if hidden else ""
    return (preformatted("\n".join(lines)) if lines else "") + more


def _approval(approval: ApprovalDescriptor) -> str:
    told = f"<p>{line(f'{show_approval(approval)}: {approval.question}')}</p>\n"
    return told + (render_question(approval) if approval.state == "waiting" else "")


def render_question(approval: ApprovalDescriptor) -> str:
    """Render all that is known of a call that waits for an answer; empty where nobody told."""
    if approval.facts is None:
        return ""
    return render_exact(command_lines(approval.facts)) + render_facts(tell_facts(approval))


def render_exact(lines: Sequence[str]) -> str:
    """Render what would run. Of a long text the start and the end stay in view."""
    if not lines:
        return ""
    start, between, end = split_long(list(wrap_all(lines, MOST_COLUMNS)))
    shown = preformatted("\n".join(start))
    if between:
        folded = preformatted("\n".join(between))
        shown += f"<details>\n<summary>{fold_words(between)}</summary>\n{folded}</details>\n"
        shown += preformatted("\n".join(end))
    # The edge of a quotation tells what is asked from what is said of it.
    return f"<blockquote>\n{shown}</blockquote>\n"


def render_facts(facts: Iterable[Fact]) -> str:
    """Render rows of facts; those without a label stand behind the one above."""
    rows = join_facts(facts, line, code)
    items = "".join(f"<li><strong>{label}</strong>: {told}</li>\n" for label, told in rows)
    return f"<ul>\n{items}</ul>\n" if items else ""


def _pair(pair: KvPair) -> str:
    value = pair.v.removesuffix("\n")
    if "\n" in value:
        return f"<li>{line(pair.k)}:\n{block(value)}</li>\n"
    return f"<li>{line(pair.k)}: {code(value)}</li>\n"


def _tree(node: TreeNode, depth: int) -> Iterator[str]:
    detail = f" {line(node.detail)}" if node.detail else ""
    yield f"<li>{code(node.label)}{detail}"
    if node.children and depth >= MAX_TREE_DEPTH:
        yield " …"
    elif node.children:
        yield "\n<ul>\n"
        for child in node.children:
            yield from _tree(child, depth + 1)
        yield "</ul>\n"
    yield "</li>\n"


def _table(table: TableDescriptor) -> Iterator[str]:
    head, rows = pad_rows(table)
    cells = "".join(f"<th>{line(cell)}</th>" for cell in head)
    yield f"<table>\n<thead>\n<tr>{cells}</tr>\n</thead>\n<tbody>\n"
    for row in rows:
        yield f"<tr>{''.join(f'<td>{line(cell)}</td>' for cell in row)}</tr>\n"
    yield "</tbody>\n</table>\n"
    if hidden := count_hidden_rows(table):
        yield f"<p>({hidden})</p>\n"


def _plan(plan: PlanDescriptor) -> Iterator[str]:
    yield f"<p>{line(count_done(plan))}</p>\n<ul>\n"
    for step in plan.steps:
        yield f"<li>{'☑' if step.done else '☐'} {line(step.text)}</li>\n"
    yield "</ul>\n"
