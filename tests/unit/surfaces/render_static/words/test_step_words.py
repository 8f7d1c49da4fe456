"""Rows: verb, target and what came of it, in a few words."""

from __future__ import annotations

from typing import Any

import pytest

from shard_jupyter.surfaces.render_static.record.record_items import StepItem
from shard_jupyter.surfaces.render_static.record.step_summary import summarise
from shard_jupyter.surfaces.render_static.turn_words import make_row
from shard_jupyter.surfaces.render_static.words.step_words import (
    find_target,
    find_verb,
    hide_durations,
    tell_result,
)
from shard_jupyter.types.content import TextBlock
from shard_jupyter.types.events import ToolResultEvent
from shard_jupyter.types.render_descriptors import (
    DiffDescriptor,
    RenderDescriptor,
    StatusDescriptor,
    TextDescriptor,
    TreeDescriptor,
    TreeNode,
)

pytestmark = pytest.mark.proves("A08")


def result_of(
    tool: str, *render: RenderDescriptor, status: str = "ok", text: str = "", **details: Any
) -> str:
    fields = {
        "agent_id": "a", "entry_id": "e", "call_id": "c", "tool": tool, "status": status,
        "is_error": status != "ok", "content": (TextBlock(text=text),), "render": render,
        "details": details,
    }  # fmt: skip
    return tell_result(ToolResultEvent.model_validate(fields))


@pytest.mark.parametrize(
    ("tool", "arguments", "verb", "target"),
    [
        ("read", {"path": "a.py", "offset": 3}, "Read", "a.py"),
        ("grep", {"pattern": "x+", "path": "src"}, "Search", "x+ in src"),
        ("grep", {"pattern": "x+", "path": "."}, "Search", "x+"),
        ("find", {"pattern": "*.py", "path": "src/"}, "Find", "*.py in src/"),
        ("ls", {"path": "."}, "List", "."),
        ("bash", {"timeout_seconds": 3, "command": "make"}, "Run", "make"),
        ("edit", {"path": "a", "old": "b", "new": "c"}, "Edit", "a"),
        ("write", {"content": "x", "path": "a"}, "Write", "a"),
        ("jira: search", {"limit": 3, "query": "open"}, "jira: search", "open"),
        ("odd", {}, "odd", ""),
        ("read", {"path": 3}, "Read", ""),
    ],
)
def test_a_row_says_what_a_call_is_about(
    tool: str, arguments: dict[str, Any], verb: str, target: str
) -> None:
    assert (find_verb(tool), find_target(tool, arguments)) == (verb, target)


def test_a_row_says_what_came_of_it() -> None:
    def label(text: str) -> StatusDescriptor:
        return StatusDescriptor(label=text)

    tree = TreeDescriptor(root=TreeNode(label=".", children=(TreeNode(label="a"),)))
    pytest_tail = TextDescriptor(text="E\n2 failed, 9 passed, 1 error in 1.87s")
    assert result_of("read", label("a: b.py: 12 lines"), TextDescriptor(text="x")) == "12 lines"
    found = label("3 matching lines in 2 files, 10 files searched")
    assert result_of("grep", found) == "3 matching lines in 2 files"
    assert result_of("ls", tree) == "1 name"
    assert result_of("edit", DiffDescriptor(path="a", hunks=(), added=3, removed=1)) == "+3 -1"
    assert result_of("bash", TextDescriptor(text="clean\n"), exit_code=0) == "clean"
    assert result_of("bash", TextDescriptor(text="a\nb"), exit_code=0) == ""
    failed = {"status": "error", "exit_code": 1}
    assert result_of("bash", pytest_tail, **failed) == "exit 1, 2 failed, 9 passed, 1 error"
    assert result_of("bash", label("timed out"), status="error") == "timed out"
    assert result_of("edit", status="error", text="Not there.\nRead it.") == "Not there."
    assert result_of("bash", status="denied", text="Denied: no rule") == "Denied: no rule"
    assert result_of("bash", status="interrupted", text="x") == "stopped"
    assert result_of("bash", status="uncertain", text="x") == "outcome not known"
    assert result_of("jira", label("3 issues, 1 open")) == "3 issues, 1 open"


def test_a_long_target_is_cut_in_the_row_alone() -> None:
    step = StepItem(number=1, tool="bash", verb="Run", target="echo " + "x" * 200, state="ok")
    row = make_row(step)
    assert (len(row.target), row.target[-1], row.is_cut) == (100, "…", True)
    assert len(step.target) == 205
    lines = make_row(step.model_copy(update={"target": "make\nmake install"}))
    assert (lines.target, lines.is_cut) == ("make…", True)


@pytest.mark.parametrize(
    ("text", "steady"),
    [
        ("3 passed in 0.12s", "3 passed in … s"),
        ("Ran 3 tests in 0.001s", "Ran 3 tests in … s"),
        ("took 12 ms, after 3 seconds", "took … ms, after … seconds"),
        ("in 3 files, 12s", "in 3 files, 12s"),
    ],
)
def test_how_long_a_command_took_is_hidden(text: str, steady: str) -> None:
    assert hide_durations(text) == steady


def make_step(tool: str, target: str = "", state: str = "ok") -> StepItem:
    fields = {"number": 1, "tool": tool, "verb": tool, "target": target, "state": state}
    return StepItem.model_validate(fields)


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        ([], ""),
        ([make_step("read", "a"), make_step("read", "b"), make_step("read", "a")], "Read 2 files"),
        ([make_step("grep")] * 2 + [make_step("find")], "Searched twice, looked for files once"),
        ([make_step("grep")] * 3 + [make_step("ls", "a")], "Searched 3 times, listed 1 folder"),
        (
            [make_step("bash", state="error"), make_step("bash"), make_step("write", "a")],
            "Ran 2 commands, wrote 1 file",
        ),
        ([make_step("jira")] * 2, "Used jira twice"),
        (
            [make_step("edit", "a", "denied"), make_step("edit", "a", "error")],
            "1 step denied, 1 step failed",
        ),
        ([make_step("bash", state="interrupted")] * 2, "2 steps stopped"),
        ([make_step("bash", state="running")], ""),
    ],
)
def test_all_steps_are_counted_in_one_line(steps: list[StepItem], told: str) -> None:
    assert summarise(steps) == told
