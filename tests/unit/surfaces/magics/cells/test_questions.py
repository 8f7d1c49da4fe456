"""Questions come one after another; an answer counts for the question that was shown."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shard_jupyter.surfaces.conversation.answer_dialog import Reply
from shard_jupyter.surfaces.magics.cells.questions import (
    MOST_ANSWERS,
    NOBODY,
    UNCLEAR,
    Asked,
    Questions,
    answer_words,
    read_until_clear,
)
from shard_jupyter.types.decisions import Rule
from shard_jupyter.types.events import PermissionRequest

pytestmark = pytest.mark.proves("D02", "J3.1")


def question(name: str) -> PermissionRequest:
    return PermissionRequest(
        agent_id="a",
        request_id=name,
        call_id="c",
        tool="bash",
        prompt="Run it?",
        arguments={"command": "ls"},
        offered_rules=(Rule(effect="allow", tool="bash"),),
    )


class ScriptedAsker:
    """Keeps what it was asked and what was withdrawn."""

    def __init__(self) -> None:
        self.steps: list[str] = []

    def start(self, request: PermissionRequest) -> Callable[[], None]:
        self.steps.append(f"ask {request.request_id}")
        return lambda: self.steps.append(f"withdraw {request.request_id}")


def test_questions_are_asked_in_order_one_at_a_time() -> None:
    asker = ScriptedAsker()
    questions = Questions(asker)
    for name in ("one", "two", "three"):
        questions.add(question(name))
    assert asker.steps == ["ask one"]
    assert questions.close_one("one")
    questions.ask_next()
    assert asker.steps == ["ask one", "withdraw one", "ask two"]


def test_what_is_resolved_elsewhere_is_not_asked_any_more() -> None:
    asker = ScriptedAsker()
    questions = Questions(asker)
    for name in ("one", "two", "three"):
        questions.add(question(name))
    assert not questions.close_one("two")
    assert questions.close_one("one")
    questions.ask_next()
    assert asker.steps[-1] == "ask three"
    assert not questions.close_one("one")


def test_at_the_end_all_are_withdrawn() -> None:
    asker = ScriptedAsker()
    questions = Questions(asker)
    questions.add(question("one"))
    questions.add(question("two"))
    questions.close()
    questions.close()
    questions.ask_next()
    assert asker.steps == ["ask one", "withdraw one"]


def test_where_nobody_is_nobody_is_asked() -> None:
    questions = Questions(None)
    questions.add(question("one"))
    assert not questions.close_one("one")
    questions.close()


class Lines:
    def __init__(self, *lines: str) -> None:
        self.lines = list(lines)
        self.prompts: list[str] = []

    def read(self, prompt: str) -> str:
        self.prompts.append(prompt)
        if not self.lines:
            raise EOFError
        return self.lines.pop(0)


def test_only_a_clear_answer_counts() -> None:
    lines = Lines("", "sure", "y please", " Y ")
    assert read_until_clear(lines.read, "first> ", question("q")) == Reply("allow")
    assert lines.prompts[0] == "first> "
    assert set(lines.prompts[1:]) == {"That is no answer. y, s, a, e, n, ?\n> "}


def test_the_end_of_the_input_denies() -> None:
    assert read_until_clear(Lines().read, "> ", question("q")) == NOBODY
    assert NOBODY.decision == UNCLEAR.decision == "deny"


def test_a_client_that_never_answers_clearly_is_asked_only_so_often() -> None:
    lines = Lines(*["?"] * 1000)
    assert read_until_clear(lines.read, "> ", question("q")) == UNCLEAR
    assert len(lines.prompts) == MOST_ANSWERS


def test_after_a_withdrawal_a_yes_names_its_question_and_a_no_need_not() -> None:
    asked = Asked()
    assert asked.next_mark() == ""
    asked.withdrawn += 1
    mark = asked.next_mark()
    assert answer_words(question("q"), mark) == ("y #2", "s #2", "a #2", "e", "n", "?")
    lines = Lines("y", "a", "y #1", "y #2")
    assert read_until_clear(lines.read, "> ", question("q"), mark) == Reply("allow")
    assert set(lines.prompts[1:]) == {
        "A yes must say #2: an earlier box may still be open. y #2, s #2, a #2, e, n, ?\n> "
    }
    assert len(lines.prompts) == 4
    lines = Lines("n not now")
    assert read_until_clear(lines.read, "> ", question("q"), mark) == Reply("deny", note="not now")
