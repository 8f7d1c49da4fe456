"""How a question about a call is put to a person in words. Pure.

What is shown is all of what will run, with every character told, and never cut. The answer is a
whole line: no single key allows anything.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator

from shard_jupyter.surfaces.render_static.plain import render_all
from shard_jupyter.surfaces.render_static.words.approval_words import (
    Fact,
    align,
    ask_in_words,
    command_lines,
    tell_always,
    tell_facts,
)
from shard_jupyter.surfaces.render_static.words.exact_text import (
    exact_lines,
    show_exactly_on_line,
)
from shard_jupyter.surfaces.render_static.words.step_words import RECOVERED
from shard_jupyter.surfaces.render_static.words.wrapped_lines import wrap_all
from shard_jupyter.types.decisions import Rule
from shard_jupyter.types.events import PermissionRequest
from shard_jupyter.types.render_descriptors import (
    ApprovalDescriptor,
    ApprovalFacts,
    KvDescriptor,
    RenderDescriptor,
    TextDescriptor,
)

DescribeRule = Callable[[Rule], str]
DEFAULT_WIDTH = 84
_BAR = "  │ "


def show_question(
    request: PermissionRequest, describe_rule: DescribeRule, width: int = DEFAULT_WIDTH
) -> str:
    """Write the question out; ends with the prompt for the answer. Pure."""
    return "\n".join(_question_lines(request, describe_rule, width)) + "\n> "


def approval_of(request: PermissionRequest) -> ApprovalDescriptor:
    """All that is known of the question; of an older peer, what the request itself says."""
    if request.approval is not None:
        return request.approval
    return ApprovalDescriptor(question=request.prompt, state="waiting", why=request.why)


def _question_lines(
    request: PermissionRequest, describe_rule: DescribeRule, width: int
) -> Iterator[str]:
    approval = approval_of(request)
    yield f"\n{name_tool(request)} asks: {ask_in_words(approval)}"
    yield from bar(exact_command(request), width)
    if parts := untold_parts(request):
        yield from bar(render_all(parts).split("\n"), width)
    yield from indent_facts(tell_facts(approval), width)
    yield ""
    for word, lead, told in answers_of(request, describe_rule):
        yield from wrap_all([f"  {word:<2} {lead}{told}"], width)


def bar(lines: Iterable[str], width: int) -> Iterator[str]:
    """Put a bar before each row: no text of others can pass for a line of ours."""
    return (f"{_BAR}{row}" for row in wrap_all(lines, width - len(_BAR)))


def indent_facts(facts: Iterable[Fact], width: int) -> Iterator[str]:
    return (f"  {row}" for row in align(facts, width - 2))


def answers_of(
    request: PermissionRequest, describe_rule: DescribeRule
) -> Iterator[tuple[str, str, str]]:
    """Yield each answer, what it does, and the rule that it stores for a while."""
    yield "y", "allow it once", ""
    for rule in request.offered_rules[:1]:
        yield "s", "allow it for this session: ", rule_words(rule, describe_rule)
        yield "a", "allow it always: asks for how long", ""
    if can_edit(request):
        yield "e", "edit the command first", ""
    yield "n", "deny it; words after the n are told to the model", ""
    yield "?", "explain", ""


def rule_words(rule: Rule, describe_rule: DescribeRule) -> str:
    return show_exactly_on_line(describe_rule(rule))


def can_edit(request: PermissionRequest) -> bool:
    return isinstance(request.arguments.get("command"), str)


def exact_command(request: PermissionRequest) -> list[str]:
    """The lines of what would run; none where it is no command."""
    told = command_lines(approval_of(request).facts)
    command = request.arguments.get("command")
    return told or (exact_lines(command) if isinstance(command, str) else [])


def untold_parts(request: PermissionRequest) -> list[RenderDescriptor]:
    """The preview without what the command and the facts say; without one the other arguments."""
    facts = approval_of(request).facts
    rest = {key: value for key, value in request.arguments.items() if key != "command"}
    if not request.render:
        text = json.dumps(rest, indent=2, ensure_ascii=False)
        return [TextDescriptor(text=text, language="json")] if rest else []
    parts = (_without_told(part, request, facts) for part in request.render)
    return [part for part in parts if part is not None]


def _without_told(
    part: RenderDescriptor, request: PermissionRequest, facts: ApprovalFacts | None
) -> RenderDescriptor | None:
    match part:
        case TextDescriptor():
            return None if part.text == request.arguments.get("command") else part
        case KvDescriptor() if facts is not None and facts.runs_in:
            kept = tuple(pair for pair in part.pairs if pair.k != "folder")
            return part.model_copy(update={"pairs": kept}) if kept else None
        case _:
            return part


def answer_words(request: PermissionRequest, mark: str = "") -> tuple[str, ...]:
    """Return the answers that there are. `mark` has to follow a yes where it is not empty."""
    letters = ["y", *(["s", "a"] if request.offered_rules else [])]
    edit = ["e"] if can_edit(request) else []
    return (*(f"{word} {mark}".rstrip() for word in letters), *edit, "n", "?")


def short_prompt(request: PermissionRequest, words: tuple[str, ...]) -> str:
    """Write what stands before the answer where the question itself is shown elsewhere."""
    return f"{name_tool(request)}: {', '.join(words)}> "


def name_tool(request: PermissionRequest) -> str:
    marked = f" ({RECOVERED})" if request.recovered else ""
    return f"{show_exactly_on_line(request.tool)}{marked}"


def prompt_again(why: str, words: tuple[str, ...]) -> str:
    gap = "\n" if "\n" in why else " "
    return f"{why}{gap}{', '.join(words)}\n> "


_SHORT_PROMPT = re.compile(r"(?:^|[ \n])(y(?: #\d+)?)(?:, [sa](?: #\d+)?)*(?:, e)?, n, \?\n?> $")
_RECOVERED_PROMPT = re.compile(rf"\({RECOVERED}\): [^\n]*> $")


def find_standing_answer(prompt: str) -> str | None:
    """Return what somebody who always says yes answers to a prompt; None: it asks for no call.

    A call that was read from text gets `n`: only somebody who has looked at it may allow it.
    """
    if _RECOVERED_PROMPT.search(prompt):
        return "n"
    found = _SHORT_PROMPT.search(prompt)
    return found[1] if found else None


def explain(request: PermissionRequest, width: int = DEFAULT_WIDTH) -> str:
    """Say why it is asked, what the model wrote, and what "always" would cover."""
    approval = approval_of(request)
    facts = approval.facts or ApprovalFacts()
    rows = [Fact("Why asked", show_exactly_on_line(approval.why))] if approval.why else []
    rows += tell_always(facts)
    if request.would_allow:
        rows.append(Fact("A rule file", f"would need: {show_exactly_on_line(request.would_allow)}"))
    lines = list(indent_facts(rows, width))
    if facts.written:
        lines += ["  The model wrote:", *bar(exact_lines(facts.written), width)]
    return "\n".join(lines) or "  Nothing more is known of it."
