"""How a question about a call is put to a person in words, and how the answer is read. Pure.

What is shown is all of what will run, with every character visible, and never cut. The answer is a
whole line: no single key allows anything.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from shard_jupyter.surfaces.render_static.plain import render_all
from shard_jupyter.surfaces.render_static.visible_text import make_visible, make_visible_line
from shard_jupyter.surfaces.render_static.words.step_words import RECOVERED
from shard_jupyter.types.decisions import Rule
from shard_jupyter.types.events import PermissionRequest

DescribeRule = Callable[[Rule], str]


@dataclass(frozen=True)
class Reply:
    """What the person decided. `rule` is one of the offered ones, only with allow_always."""

    decision: Literal["allow", "allow_always", "deny"]
    note: str = ""
    rule: Rule | None = None


def show_question(request: PermissionRequest, describe_rule: DescribeRule) -> str:
    """Write the question out; ends with the prompt for the answer. Pure."""
    return "\n".join(_question_lines(request, describe_rule)) + "\n> "


def _question_lines(request: PermissionRequest, describe_rule: DescribeRule) -> Iterator[str]:
    yield f"\n{_name_tool(request)} asks: {make_visible_line(request.prompt)}"
    for part in _shown_parts(request):
        # The bar tells what is shown from what is said: no text can write a line of its own.
        yield from (f"  │ {line}" for line in part.split("\n"))
    if request.why and request.why != request.prompt:
        yield f"Why asked: {make_visible_line(request.why)}"
    yield "  y  allow it once"
    for letter, rule in zip(rule_letters(request), request.offered_rules, strict=True):
        yield f"  {letter}  always: {make_visible_line(describe_rule(rule))}"
    yield "  n  deny it; words after the n are told to the model"


def _shown_parts(request: PermissionRequest) -> Iterator[str]:
    """Yield the preview, the command unless the preview holds it line for line, and the rest."""
    preview = render_all(request.render)
    if preview:
        yield preview
    rest = dict(request.arguments)
    command = rest.pop("command", None)
    if isinstance(command, str):
        visible = make_visible(command)
        if f"\n{visible}\n" not in f"\n{preview}\n":
            yield visible
    if rest and not preview:
        yield make_visible(json.dumps(rest, indent=2, ensure_ascii=False))


def rule_letters(request: PermissionRequest) -> list[str]:
    count = len(request.offered_rules)
    return ["a"][:count] if count <= 1 else [f"a{number}" for number in range(1, count + 1)]


def answer_words(request: PermissionRequest, mark: str = "") -> tuple[str, ...]:
    """Return the answers that there are. `mark` has to follow a yes where it is not empty."""
    yes = (f"{word} {mark}".rstrip() for word in ("y", *rule_letters(request)))
    return (*yes, "n")


def short_prompt(request: PermissionRequest, words: tuple[str, ...]) -> str:
    """Write what stands before the answer where the question itself is shown elsewhere."""
    return f"{_name_tool(request)}: {', '.join(words)}> "


def _name_tool(request: PermissionRequest) -> str:
    mark = f" ({RECOVERED})" if request.recovered else ""
    return f"{make_visible_line(request.tool)}{mark}"


def prompt_again(why: str, words: tuple[str, ...]) -> str:
    return f"{why} {', '.join(words)}\n> "


_SHORT_PROMPT = re.compile(r"(?:^|[ \n])(y(?: #\d+)?)(?:, a\d*(?: #\d+)?)*, n\n?> $")


_RECOVERED_PROMPT = re.compile(rf"\({RECOVERED}\): [^\n]*> $")


def find_standing_answer(prompt: str) -> str | None:
    """Return what somebody who always says yes answers to a prompt; None: it asks for no call.

    A call that was read from text gets `n`: only somebody who has looked at it may allow it.
    """
    if _RECOVERED_PROMPT.search(prompt):
        return "n"
    found = _SHORT_PROMPT.search(prompt)
    return found[1] if found else None


def read_reply(line: str, request: PermissionRequest) -> Reply | None:
    """Understand an answer; None for what is no clear answer. Pure."""
    word, _, rest = line.strip().partition(" ")
    word, rest = word.lower(), rest.strip()
    if word in ("n", "no"):
        return Reply("deny", note=rest)
    if rest:
        return None
    if word in ("y", "yes"):
        return Reply("allow")
    rules = dict(zip(rule_letters(request), request.offered_rules, strict=True))
    return Reply("allow_always", rule=rules[word]) if word in rules else None
