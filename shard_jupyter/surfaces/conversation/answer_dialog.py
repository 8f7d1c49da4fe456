"""How the answer to a question is read, line by line. Pure.

One line answers, but for what goes further than this one call: "always" asks for what and for how
long, and an edited command is typed on a line of its own. Each of these can be left again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from shard_jupyter.surfaces.conversation.question import (
    DEFAULT_WIDTH,
    DescribeRule,
    answer_words,
    approval_of,
    can_edit,
    explain,
    indent_facts,
    prompt_again,
    rule_words,
)
from shard_jupyter.surfaces.render_static.words.approval_words import Fact, tell_always
from shard_jupyter.surfaces.render_static.words.wrapped_lines import wrap_all
from shard_jupyter.types.decisions import KeepScope, Rule
from shard_jupyter.types.events import PermissionRequest
from shard_jupyter.types.render_descriptors import ApprovalFacts

NO_ANSWER = "That is no answer."
_KEPT: Mapping[str, tuple[KeepScope, str]] = {
    "t": ("agent", "this agent"),
    "p": ("project", "this project"),
    "m": ("everywhere", "all my projects"),
}
_EDIT_PROMPT = "The whole new command, on one line; an empty line goes back.\n$ "


@dataclass(frozen=True)
class Reply:
    """What the person decided.

    Attributes:
        rule: one of the offered ones, only with allow_always, and `keep` with it.
        arguments: only with allow: what runs in place of the call's own; judged anew.
    """

    decision: Literal["allow", "allow_always", "deny"]
    note: str = ""
    rule: Rule | None = None
    keep: KeepScope = "session"
    arguments: dict[str, Any] | None = None


class AnswerDialog:
    """Reads the lines that answer one question.

    Attributes:
        prompt: what to show before the next line.
        step: what the next line is taken for. What was typed before `keep` was shown must not
            answer it.

    Args:
        mark: has to end every line that allows something, where it is not empty.
    """

    def __init__(
        self,
        request: PermissionRequest,
        describe_rule: DescribeRule,
        prompt: str,
        *,
        mark: str = "",
        width: int = DEFAULT_WIDTH,
    ) -> None:
        self.prompt = prompt
        self.step: Literal["answer", "keep", "edit"] = "answer"
        self._request = request
        self._describe_rule = describe_rule
        self._mark = mark
        self._width = width

    def take(self, line: str) -> Reply | None:
        """Understand a line; None: `prompt` says how to go on."""
        match self.step:
            case "keep":
                return self._take_keep(line)
            case "edit":
                return self._take_edit(line)
            case _:
                return self._take_answer(line)

    def _take_answer(self, line: str) -> Reply | None:
        word, _, rest = line.strip().partition(" ")
        if word.lower() in ("n", "no"):
            return Reply("deny", note=self._without_mark(rest).strip())
        if line.strip() == "?":
            return self._again(explain(self._request, self._width))
        if word.lower() == "e" and can_edit(self._request):
            return self._edit(self._without_mark(rest))
        return self._take_yes(line, word.lower())

    def _take_yes(self, line: str, word: str) -> Reply | None:
        if word not in self._yes_words():
            return self._again(NO_ANSWER)
        if self._mark and not line.rstrip().endswith(self._mark):
            return self._again(f"A yes must say {self._mark}: an earlier box may still be open.")
        if self._without_mark(line).strip().lower() != word:
            return self._again(NO_ANSWER)  # a condition, say, which nobody would see to
        if word == "a":
            self.step, self.prompt = "keep", self._keep_prompt()
            return None
        if word == "s":
            return Reply("allow_always", rule=self._request.offered_rules[0])
        return Reply("allow")

    def _yes_words(self) -> tuple[str, ...]:
        return ("y", "yes", "s", "a") if self._request.offered_rules else ("y", "yes")

    def _take_keep(self, line: str) -> Reply | None:
        bare = self._without_mark(line).strip().lower()
        if bare in ("", "b", "back"):
            return self._again("Not allowed yet.")
        rules = self._request.offered_rules
        number = bare[1:] or "1"
        scope = _KEPT.get(bare[:1])
        if scope is None or number not in map(str, range(1, len(rules) + 1)):
            self.prompt = f"{NO_ANSWER} {', '.join(self._keep_words())}\n> "
            return None
        if self._mark and not line.rstrip().endswith(self._mark):
            self.prompt = f"A yes must say {self._mark}. {', '.join(self._keep_words())}\n> "
            return None
        return Reply("allow_always", rule=rules[int(number) - 1], keep=scope[0])

    def _keep_words(self) -> tuple[str, ...]:
        return (*(f"{letter} {self._mark}".rstrip() for letter in _KEPT), "b")

    def _keep_prompt(self) -> str:
        return "\n".join(self._keep_lines()) + "\n> "

    def _keep_lines(self) -> Iterator[str]:
        rules = self._request.offered_rules
        facts = approval_of(self._request).facts or ApprovalFacts()
        yield "Always allow"
        for number, rule in enumerate(rules, 1):
            lead = f"  {number}  " if len(rules) > 1 else "  "
            told = rule_words(rule, self._describe_rule)
            yield from wrap_all([f"{lead}{told}"], self._width)
        if len(rules) > 1:
            yield f"  With {len(rules)}:"
        covered = [row for row in tell_always(facts) if row.label != "Rule"]
        yield from indent_facts(covered or [Fact("Not covered", "anything else")], self._width)
        yield "Kept for"
        for letter, (_, told) in _KEPT.items():
            yield f"  {letter}  {told}"
        yield "  b  back; nothing is allowed yet"
        if len(rules) > 1:
            yield "A number after the letter takes another rule than the first: p2."

    def _edit(self, command: str) -> Reply | None:
        if command.strip():
            return self._take_edit(command)
        self.step, self.prompt = "edit", _EDIT_PROMPT
        return None

    def _take_edit(self, line: str) -> Reply | None:
        if not line.strip():
            return self._again("Nothing is changed.")
        return Reply("allow", arguments={**self._request.arguments, "command": line.strip()})

    def _again(self, why: str) -> Reply | None:
        self.step = "answer"
        self.prompt = prompt_again(why, answer_words(self._request, self._mark))
        return None

    def _without_mark(self, line: str) -> str:
        return line.rstrip().removesuffix(self._mark) if self._mark else line
