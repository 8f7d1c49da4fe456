"""A question that waits shows all that is known; one that is over is one line, and says how."""

from __future__ import annotations

from html import unescape
from typing import Any

import pytest

from shard_jupyter.surfaces.render_static.bundle import make_bundle
from shard_jupyter.surfaces.render_static.html import render_html
from shard_jupyter.surfaces.render_static.markdown import render_markdown
from shard_jupyter.surfaces.render_static.plain import render_plain
from shard_jupyter.surfaces.render_static.record_limits import without_open_questions
from shard_jupyter.types.decisions import Allow, AllowAlways, CommandPattern, Deny, Rule
from shard_jupyter.types.events import PermissionRequest, ToolCallEvent
from shard_jupyter.types.render_descriptors import (
    ApprovalDescriptor,
    ApprovalFacts,
    TextDescriptor,
)
from tests.unit.surfaces.render_static.hostile import check_html, check_markdown
from tests.unit.surfaces.render_static.turn_builder import TurnBuilder

pytestmark = pytest.mark.proves("A08", "T74")
RULE = Rule(effect="allow", tool="bash", command=CommandPattern(program="ls", args=("src",)))
RENDERERS = (render_plain, render_markdown, render_html)


def waiting(command: str = "git push origin main", **facts: Any) -> ApprovalDescriptor:
    told = {"runs_in": "~/sales", "undo": "Cannot be undone from here.", **facts}
    return ApprovalDescriptor(
        question="Allow git push?",
        state="waiting",
        why="no rule allows it",
        facts=ApprovalFacts(command=command, **told),
    )


def test_in_plain_text_the_facts_stand_in_columns() -> None:
    facts = {"network": ("github.com", "any"), "writes": ("a", "/etc/b"), "is_known": False}
    assert render_plain(waiting("git push \u202e\nls", **facts)) == (
        "Needs your answer: Allow git push?\n"
        "  │ git push ⟨U+202E⟩⏎\n"
        "  │ ls\n"
        "  Runs in      ~/sales\n"
        "  Reaches      changes a\n"
        "               changes, outside the project: /etc/b\n"
        "               network: any host; it names github.com\n"
        "               may do more than it says\n"
        "  Undo         Cannot be undone from here.\n"
        "  Why asked    no rule allows it"
    )


@pytest.mark.parametrize("render", RENDERERS)
def test_every_form_tells_every_fact(render: Any) -> None:
    facts = {
        "network": ("host.example",),
        "writes": ("written.txt", "~/elsewhere"),
        "reads_outside": ("/etc/hostname",),
        "no_always": "python3 runs code",
    }
    shown = render(waiting(**facts))
    for told in (
        "git push origin main", "~/sales", "host.example", "written.txt", "~/elsewhere",
        "/etc/hostname", "Cannot be undone from here.", "no rule allows it", "python3 runs code",
    ):  # fmt: skip
        assert told in shown.replace("\\", "")


@pytest.mark.parametrize("render", RENDERERS)
def test_of_a_long_command_nothing_is_lost_and_the_end_is_in_view(render: Any) -> None:
    lines = [f"line {number:03}" for number in range(200)]
    shown = render(waiting("\n".join(lines)))
    assert all(line in shown for line in lines)
    if render is render_html:
        start, _, rest = shown.partition("<details>")
        folded, _, end = rest.partition("</details>")
        assert "line 015" in start
        assert "Show 176 lines between" in folded
        assert "line 016" in folded
        assert all(line in end for line in lines[-8:])


def test_up_to_24_lines_are_all_in_view() -> None:
    assert "<details>" not in render_html(waiting("\n".join(["x"] * 24)))
    assert "<details>" in render_html(waiting("\n".join(["x"] * 25)))


@pytest.mark.parametrize("render", RENDERERS)
def test_nothing_runs_off_to_the_right_where_nobody_looks(render: Any) -> None:
    shown = render(waiting("true " + " " * 300 + "; rm -rf ~"))
    assert "rm" in shown
    assert max(map(len, unescape(shown).split("\n"))) < 100


@pytest.mark.proves("T73")
@pytest.mark.parametrize(
    "evil", ["\x1b[2K", "a\u202eb", "\u200b", "</pre><b>", "`````", "<script>", "x\n  y  allow"]
)
def test_facts_obey_nothing_that_stands_in_them(evil: str) -> None:
    fields = {
        "runs_in": evil, "writes": (evil,), "reads_outside": (evil,), "network": (evil,),
        "undo": evil, "no_always": evil,
    }  # fmt: skip
    approval = waiting(evil, **fields).model_copy(update={"question": evil, "why": evil})
    plain = render_plain(approval)
    assert not set(plain) & set("\x1b\u202e\u200b")
    assert "\n  y  allow" not in plain
    check_html(render_html(approval))
    check_markdown(render_markdown(approval))


def test_a_long_list_of_files_is_counted() -> None:
    shown = render_plain(waiting(writes=tuple(f"f{number}" for number in range(40))))
    assert "f11, and 28 more" in " ".join(shown.split())


@pytest.mark.parametrize("render", RENDERERS)
def test_one_that_is_answered_is_one_line_without_facts(render: Any) -> None:
    answered = waiting().model_copy(update={"state": "allowed", "by": "you"})
    shown = render(answered)
    assert "Allowed by you, once" in shown
    assert "sales" not in shown
    assert shown.strip().count("\n") == 0


class TestRecords:
    def ask(self, turn: TurnBuilder, command: str, *, edited: bool = False) -> None:
        turn.request_id = f"request-{next(turn.numbers)}"
        turn.add(
            PermissionRequest,
            request_id=turn.request_id,
            call_id=turn.call_id,
            tool="bash",
            prompt="Allow it?",
            arguments={"command": command},
            approval=waiting(command).model_copy(update={"edited": edited}),
        )

    def turn(self, command: str = "git push") -> TurnBuilder:
        turn = TurnBuilder()
        turn.call("bash", TextDescriptor(text=command), command=command)
        self.ask(turn, command)
        return turn

    def test_what_waits_is_shown_with_its_facts_in_every_form(self) -> None:
        bundle = make_bundle(self.turn().record())
        for form in ("text/plain", "text/markdown", "text/html"):
            assert "~/sales" in bundle[form]
        assert "Needs your answer: Allow it?" in bundle["text/plain"]

    def test_what_is_asked_elsewhere_as_a_whole_is_only_a_row(self) -> None:
        record = self.turn("git push\nls").record()
        bundle = make_bundle(record, shown=without_open_questions(record))
        assert "~/sales" not in bundle["text/html"]
        assert "needs your answer" in bundle["text/html"]
        assert "<details open>" not in bundle["text/html"]
        data = bundle["application/vnd.shard.transcript.v1+json"]
        assert data["items"][0]["approvals"][0]["facts"]["runs_in"] == "~/sales"

    def test_a_record_that_is_the_same_for_all_names_no_folder_of_this_machine(self) -> None:
        assert "sales" not in str(make_bundle(self.turn().record(deterministic=True)))

    @pytest.mark.parametrize("size", [50_000, 120_000, 400_000])
    def test_of_a_command_that_does_not_fit_the_question_is_left(self, size: int) -> None:
        """Half of what would run is not shown for all of it."""
        bundle = make_bundle(self.turn("echo " + "w" * size).record())
        for form in ("text/plain", "text/markdown", "text/html"):
            assert "Needs your answer: Allow it?" in bundle[form]
            assert len(bundle[form]) < 70_000

    @pytest.mark.parametrize(
        ("decision", "by", "told"),
        [
            (Allow(), "notebook", "Allowed by you, once"),
            (AllowAlways(rule=RULE), "notebook", "for this session (allow bash ls src)"),
            (AllowAlways(rule=RULE, keep="agent"), "cli", "Allowed in the command line"),
            (
                AllowAlways(rule=RULE, keep="everywhere"),
                "kernel",
                "Allowed by you, always (allow bash ls src, all my projects)",
            ),
            (Deny(reason="no", by="person", note="later"), "notebook", "Denied by you · “later”"),
            (Deny(reason="nobody answered in time", by="expired"), "shard", "Expired, not run"),
        ],
    )
    def test_how_it_ended_is_one_line(self, decision: Any, by: str, told: str) -> None:
        turn = self.turn()
        turn.answer(decision, by)
        turn.result()
        turn.finish("Done.")
        bundle = make_bundle(turn.record())
        for form in ("text/plain", "text/markdown", "text/html"):
            assert told in bundle[form].replace("\\", "")
            assert "~/sales" not in bundle[form]

    def test_an_edited_command_that_was_asked_again_has_one_answer(self) -> None:
        turn = self.turn()
        turn.answer(Allow())
        edited = {"command": "git push --dry-run"}
        turn.add(ToolCallEvent, call_id=turn.call_id, tool="bash", arguments=edited)
        self.ask(turn, "git push --dry-run", edited=True)
        turn.answer(Allow())
        turn.result()
        turn.finish("Done.")
        shown = make_bundle(turn.record())["text/plain"]
        assert "git push --dry-run  Allowed by you, edited\n" in shown
        assert "once" not in shown
