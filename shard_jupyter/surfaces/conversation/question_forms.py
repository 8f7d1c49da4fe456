"""A question in every form in which a notebook may show it. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from shard_jupyter.surfaces.conversation.question import (
    DescribeRule,
    answers_of,
    approval_of,
    exact_command,
    name_tool,
    show_question,
    untold_parts,
)
from shard_jupyter.surfaces.render_static import html, markdown
from shard_jupyter.surfaces.render_static.words.approval_words import ask_in_words, tell_facts
from shard_jupyter.types.events import PermissionRequest


@dataclass(frozen=True)
class QuestionForms:
    """Each form holds all of the question, and the answers that there are."""

    plain: str
    markdown: str
    html: str


def make_forms(request: PermissionRequest, describe_rule: DescribeRule) -> QuestionForms:
    plain = show_question(request, describe_rule).removesuffix("\n> ")
    return QuestionForms(
        plain, _write_markdown(request, describe_rule), _write_html(request, describe_rule)
    )


def _write_html(request: PermissionRequest, describe_rule: DescribeRule) -> str:
    approval = approval_of(request)
    asks = f"{html.line(name_tool(request))} asks:"
    answers = [
        f"<code>{word}</code> {html.line(lead)}{html.code(told) if told else ''}"
        for word, lead, told in answers_of(request, describe_rule)
    ]
    parts = (
        f"<p>◆ {asks} <strong>{html.line(ask_in_words(approval))}</strong></p>\n",
        html.render_exact(exact_command(request)),
        html.render_all_html(untold_parts(request)),
        html.render_facts(tell_facts(approval)),
        f"<p>{'<br>'.join(answers)}</p>\n",
    )
    return "".join(parts)


def _write_markdown(request: PermissionRequest, describe_rule: DescribeRule) -> str:
    approval = approval_of(request)
    asks = f"{markdown.line(name_tool(request))} asks:"
    answers = [
        f"- `{word}` {markdown.line(lead)} {markdown.code(told) if told else ''}".rstrip()
        for word, lead, told in answers_of(request, describe_rule)
    ]
    parts = (
        f"◆ {asks} **{markdown.line(ask_in_words(approval))}**",
        markdown.render_exact(exact_command(request)),
        markdown.render_all_markdown(untold_parts(request)),
        markdown.render_facts(tell_facts(approval)),
        "\n".join(answers),
    )
    return "\n\n".join(part for part in parts if part)
