"""All that is asked stands in every form of a question, and nothing in it is obeyed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shard_jupyter.surfaces.conversation.question import show_question
from shard_jupyter.surfaces.conversation.question_forms import QuestionForms, make_forms
from shard_jupyter.surfaces.magics.outputs.cell_output import add_question
from shard_jupyter.surfaces.notebook_runs.turn_display import find_question
from shard_jupyter.surfaces.render_static.words.wrapped_lines import columns_of
from shard_jupyter.types.decisions import CommandPattern, Rule
from shard_jupyter.types.events import PermissionRequest
from shard_jupyter.types.render_descriptors import (
    ApprovalDescriptor,
    ApprovalFacts,
    KvDescriptor,
    KvPair,
    TextDescriptor,
)
from tests.unit.surfaces.render_static.hostile import (
    PIECES,
    WHOLE,
    check_html,
    check_markdown,
)
from tests.unit.surfaces.render_static.turn_builder import make_diff

pytestmark = pytest.mark.proves("A08", "T74")
RULE = Rule(effect="allow", tool="bash", command=CommandPattern(program="ls", args=("src",)))


def request(command: str = "ls src", **more: Any) -> PermissionRequest:
    facts = more.pop("facts", ApprovalFacts(command=command, runs_in="~/sales"))
    return PermissionRequest(
        agent_id="a",
        request_id="r",
        call_id="c",
        **{
            "tool": "bash",
            "prompt": "Allow ls?",
            "arguments": {"command": command},
            "offered_rules": (RULE,),
            "render": (
                TextDescriptor(text=command, language="bash"),
                KvDescriptor(pairs=(KvPair(k="folder", v="/home/me/sales"),)),
            ),
            "approval": ApprovalDescriptor(
                question="Allow ls?", state="waiting", why="no rule allows it", facts=facts
            ),
            **more,
        },
    )


def describe(rule: Rule) -> str:
    assert rule.command
    return " ".join((rule.command.program, *(rule.command.args or ())))


def all_forms(asked: PermissionRequest) -> QuestionForms:
    return make_forms(asked, describe)


def each(forms: QuestionForms) -> tuple[str, str, str]:
    return forms.plain, forms.markdown, forms.html


def test_every_form_holds_the_command_the_facts_and_the_answers_once() -> None:
    for form in each(all_forms(request("ls src/a"))):
        assert "Allow this command?" in form
        assert form.count("ls src/a") == 1
        assert form.count("sales") == 1
        for told in ("no rule allows it", "allow it once", "edit the command", "explain"):
            assert form.count(told) == 1


def test_an_edited_command_says_so() -> None:
    asked = request()
    assert asked.approval
    edited = asked.model_copy(
        update={"approval": asked.approval.model_copy(update={"edited": True})}
    )
    assert all("Edited by you." in form for form in each(all_forms(edited)))


def test_what_the_preview_tells_besides_is_shown() -> None:
    pairs = (KvPair(k="folder", v="/x"), KvPair(k="time limit", v="5 s"))
    for form in each(all_forms(request(render=(KvDescriptor(pairs=pairs),)))):
        assert "5 s" in form
        assert "/x" not in form


def test_a_change_is_shown_line_by_line() -> None:
    asked = request(
        tool="edit",
        arguments={"path": "a", "old": "x", "new": "y"},
        render=(make_diff("a", "-x", "+y"),),
        facts=ApprovalFacts(writes=("a",)),
    )
    for form in each(all_forms(asked)):
        assert "+y" in form
        assert "edit the command" not in form


@given(st.lists(st.sampled_from((*PIECES, *WHOLE, "\n", "\n\n")), max_size=8).map("".join))
def test_a_terminal_finds_the_whole_question_below_a_record(text: str) -> None:
    """What a person is shown must be all of it, whatever the command holds."""
    facts = ApprovalFacts(command=text, runs_in=text, writes=(text,), undo=text, rule=text)
    forms = all_forms(request(text, facts=facts))
    bundle = add_question(
        {"text/plain": f"Before.\n\n{text}\n", "text/markdown": "", "text/html": ""}, forms
    )
    assert find_question(bundle["text/plain"]) == forms.plain.strip("\n")


@given(st.lists(st.sampled_from((*PIECES, *WHOLE)), max_size=8).map("".join))
def test_no_text_is_obeyed_in_any_form(evil: str) -> None:
    facts = ApprovalFacts(command=evil, runs_in=evil, writes=(evil,), undo=evil, rule=evil)
    forms = all_forms(request(evil, tool=evil, prompt=evil, facts=facts))
    assert not set(forms.plain) & set("\x1b\r\u202e\u200b\x9b")
    check_html(forms.html)
    check_markdown(forms.markdown)


@given(st.text(alphabet="ab \t\u0430\u3042⟨", min_size=1, max_size=300), st.integers(40, 120))
def test_no_row_of_a_question_is_wider_than_the_terminal(text: str, width: int) -> None:
    rows = show_question(request(text), describe, width).split("\n")
    shown = [row for row in rows if row.startswith("  │ ")]
    assert shown
    # The bar itself counts as two columns here, where a terminal may give it one.
    assert all(columns_of(row) <= width + 1 for row in shown)
