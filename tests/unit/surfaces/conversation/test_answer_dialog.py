"""A line answers, a wide yes takes two, an edited command is typed, and `?` explains."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from shard_jupyter.surfaces.conversation.answer_dialog import AnswerDialog, Reply
from shard_jupyter.surfaces.conversation.question import find_standing_answer
from shard_jupyter.types.decisions import CommandPattern, Rule
from shard_jupyter.types.events import PermissionRequest
from shard_jupyter.types.render_descriptors import ApprovalDescriptor, ApprovalFacts

pytestmark = [pytest.mark.proves("B12", "A08")]
ONE = Rule(effect="allow", tool="bash", command=CommandPattern(program="ls", args=("src/a",)))
WIDE = Rule(effect="allow", tool="bash", command=CommandPattern(program="ls", args=("src/**",)))


def describe(rule: Rule) -> str:
    assert rule.command
    return " ".join((rule.command.program, *(rule.command.args or ())))


def request(*rules: Rule, **facts: Any) -> PermissionRequest:
    return PermissionRequest(
        agent_id="a",
        request_id="r",
        call_id="c",
        tool="bash",
        prompt="Allow ls?",
        arguments={"command": "ls src/a", "timeout_seconds": 5},
        offered_rules=rules,
        would_allow='{"effect": "allow"}',
        approval=ApprovalDescriptor(
            question="Allow ls?",
            state="waiting",
            why="no rule allows it",
            facts=ApprovalFacts(command="ls src/a", **facts),
        ),
    )


def dialog(*rules: Rule, mark: str = "", **facts: Any) -> AnswerDialog:
    return AnswerDialog(request(*rules, **facts), describe, "first> ", mark=mark)


@pytest.mark.parametrize(
    ("line", "rules", "reply"),
    [
        ("y", (), Reply("allow")),
        (" YES ", (), Reply("allow")),
        ("n", (), Reply("deny")),
        ("no use pytest instead", (), Reply("deny", note="use pytest instead")),
        ("s", (ONE,), Reply("allow_always", rule=ONE)),
        ("s", (ONE, WIDE), Reply("allow_always", rule=ONE)),
        ("s", (), None),
        ("a", (ONE,), None),
        ("a", (), None),
        ("", (ONE,), None),
        ("y please", (), None),
        ("s now", (ONE,), None),
        ("yy", (), None),
        ("ok", (), None),
        ("1", (ONE,), None),
        ("t", (ONE,), None),
        ("m", (ONE,), None),
    ],
)
def test_only_a_clear_answer_counts(
    line: str, rules: tuple[Rule, ...], reply: Reply | None
) -> None:
    assert dialog(*rules).take(line) == reply


@given(st.text(max_size=6))
def test_an_allowance_needs_exactly_the_words_that_mean_it(line: str) -> None:
    reply = dialog(ONE).take(line)
    if reply is not None and reply.decision != "deny" and reply.arguments is None:
        assert line.strip().lower() in ("y", "yes", "s")
        assert reply.keep == "session"


@pytest.mark.proves("T81")
@given(st.text(max_size=6))
def test_no_single_line_allows_more_than_this_session(line: str) -> None:
    reply = dialog(ONE, WIDE).take(line)
    assert reply is None or reply.keep == "session"


@pytest.mark.proves("T81")
@pytest.mark.parametrize(
    ("line", "reply"),
    [
        ("t", Reply("allow_always", rule=ONE, keep="agent")),
        ("P", Reply("allow_always", rule=ONE, keep="project")),
        ("m", Reply("allow_always", rule=ONE, keep="everywhere")),
        ("p2", Reply("allow_always", rule=WIDE, keep="project")),
        ("p1", Reply("allow_always", rule=ONE, keep="project")),
        ("p3", None),
        ("p0", None),
        ("a", None),
        ("y", None),
        ("yes", None),
        ("s", None),
        ("tt", None),
        ("all", None),
    ],
)
def test_always_asks_for_how_long_before_it_allows(line: str, reply: Reply | None) -> None:
    asked = dialog(ONE, WIDE)
    assert asked.take("a") is None
    assert asked.step == "keep"
    assert asked.take(line) == reply


def test_always_shows_the_rule_and_what_it_covers() -> None:
    asked = dialog(
        ONE,
        WIDE,
        rule="ls src/…",
        also_covers=("ls src/other",),
        not_covered=("other options", "paths elsewhere"),
    )
    asked.take("a")
    assert asked.prompt == snapshot("""\
Always allow
  1  ls src/a
  2  ls src/**
  With 2:
  Also covers  ls src/other
  Not covered  other options, paths elsewhere: still asked
Kept for
  t  this agent
  p  this project
  m  all my projects
  b  back; nothing is allowed yet
A number after the letter takes another rule than the first: p2.
> \
""")


@pytest.mark.parametrize("line", ["", "b", "back"])
def test_one_can_go_back_from_always(line: str) -> None:
    asked = dialog(ONE)
    asked.take("a")
    assert asked.take(line) is None
    assert asked.step == "answer"
    assert asked.take("p") is None
    assert asked.take("y") == Reply("allow")


def test_an_edited_command_takes_the_place_of_the_old_and_nothing_else_does() -> None:
    asked = dialog()
    assert asked.take("e") is None
    assert asked.step == "edit"
    changed = {"command": "ls src/b", "timeout_seconds": 5}
    assert asked.take("  ls src/b ") == Reply("allow", arguments=changed)
    assert dialog().take("e ls src/b") == Reply("allow", arguments=changed)


def test_an_empty_edit_goes_back() -> None:
    asked = dialog()
    asked.take("e")
    assert asked.take("  ") is None
    assert asked.take("ls") is None  # no command any more, and no answer
    assert asked.take("n") == Reply("deny")


def test_only_a_command_can_be_edited() -> None:
    write = request().model_copy(update={"arguments": {"path": "a"}})
    asked = AnswerDialog(write, describe, "> ")
    assert asked.take("e") is None
    assert asked.step == "answer"


def test_a_question_mark_explains_and_asks_again() -> None:
    asked = dialog(
        ONE, rule="ls src/a", not_covered=("other options",), written="ls  src/a #\u200b"
    )
    assert asked.take("?") is None
    assert asked.prompt == snapshot("""\
  Why asked    no rule allows it
  Rule         ls src/a
  Not covered  other options: still asked
  A rule file  would need: {"effect": "allow"}
  The model wrote:
  │ ls  src/a #⟨U+200B⟩
y, s, a, e, n, ?
> \
""")
    assert find_standing_answer(asked.prompt) == "y"
    assert asked.take("y") == Reply("allow")


def test_it_is_said_why_there_is_no_always() -> None:
    asked = dialog(no_always="python3 runs what its arguments name")
    asked.take("?")
    assert "Always       not offered: python3 runs what its arguments name" in asked.prompt


@pytest.mark.parametrize("line", ["y", "s", "a", "y #1", "s #12"])
def test_where_a_mark_is_needed_no_yes_without_it_counts(line: str) -> None:
    asked = dialog(ONE, mark="#2")
    assert asked.take(line) is None
    assert asked.step == "answer"
    assert "A yes must say #2" in asked.prompt


def test_where_a_mark_is_needed_both_steps_of_always_need_it() -> None:
    asked = dialog(ONE, mark="#2")
    asked.take("a #2")
    assert asked.take("p") is None
    assert "A yes must say #2" in asked.prompt
    assert asked.take("p #2") == Reply("allow_always", rule=ONE, keep="project")


def test_only_the_first_step_has_a_standing_answer() -> None:
    asked = dialog(ONE)
    for line in ("a", "nonsense", "b", "e"):
        asked.take(line)
        standing = find_standing_answer(asked.prompt)
        assert standing == ("y" if asked.step == "answer" else None)
