"""A turn on a terminal: what goes on in one line, each question once, the whole at the end."""

from __future__ import annotations

import io
from typing import Any

import pytest

from shard_jupyter.surfaces.notebook_runs.cell_screen import CellScreen
from shard_jupyter.surfaces.notebook_runs.run_view import TextView
from shard_jupyter.surfaces.notebook_runs.turn_display import find_activity, read_turn
from shard_jupyter.surfaces.render_static.bundle import TRANSCRIPT_MIME, make_bundle
from shard_jupyter.surfaces.render_static.record.record_items import (
    NoticeItem,
    ProseItem,
    RecordItem,
    StepItem,
)
from shard_jupyter.surfaces.render_static.turn_record import TurnRecord, TurnState
from shard_jupyter.types.render_descriptors import ApprovalDescriptor

pytestmark = pytest.mark.proves("D12")
LOADING = NoticeItem(message="Loading M (98 MB) …")
READ = StepItem(number=1, tool="read", verb="Read", target="a.txt", state="ok", result="9 lines")
ASKED = StepItem(
    number=2,
    tool="bash",
    verb="Run",
    target="ls",
    state="waiting",
    approvals=(ApprovalDescriptor(state="waiting", question="Allow ls?"),),
)
QUESTION = "bash asks: Allow ls?\n  │ ls\n  Runs in  ~/a\n\n  y  allow it once\n  n  deny it"


class Terminal:
    def __init__(self) -> None:
        self.now = 0.0
        self.out = io.StringIO()
        view = TextView(self.out, lambda line, _: line, shows_state=True)
        self.screen = CellScreen(view, clock=lambda: self.now)
        self._kind = "display_data"

    def show(self, *items: RecordItem, words: str = "", **fields: Any) -> None:
        data = make_bundle(turn(*items, **fields))
        data["text/plain"] += f"\n{words}\n" if words else ""
        self.screen.take(self._kind, {"data": data, "transient": {"display_id": "d"}})
        self._kind = "update_display_data"

    @property
    def states(self) -> list[str]:
        return [part for part in self.out.getvalue().split("\r\x1b[2K") if part]


def turn(*items: RecordItem, state: TurnState = "running", **fields: Any) -> TurnRecord:
    return TurnRecord(
        agent="a", prompt="p", deterministic=False, state=state, items=items, **fields
    )


@pytest.mark.parametrize(
    ("record", "activity"),
    [
        (turn(), "Thinking"),
        (turn(LOADING), "Loading M (98 MB)"),
        (turn(READ), "Thinking"),
        (turn(READ.model_copy(update={"state": "running"})), "Read  a.txt"),
        (turn(READ, answer="First.\nIt says"), "It says"),
        (turn(READ, ProseItem(text="One.\nTwo", is_open=True)), "Two"),
        (turn(READ, ProseItem(text="One.")), "Thinking"),
        (turn(ASKED, state="waiting"), ""),
        (turn(READ, state="done", outcome="completed"), ""),
    ],
)
def test_a_line_says_what_goes_on(record: TurnRecord, activity: str) -> None:
    assert find_activity(record) == activity


def test_what_lasts_is_seen_to_last() -> None:
    terminal = Terminal()
    terminal.show(LOADING)
    for second in range(1, 4):
        terminal.now = float(second)
        terminal.screen.tick()
    terminal.show(READ)
    assert terminal.states == [
        "… Loading M (98 MB)",
        "… Loading M (98 MB)  0:01",
        "… Loading M (98 MB)  0:02",
        "… Loading M (98 MB)  0:03",
        "… Thinking",
    ]


def test_a_question_is_shown_once_with_what_came_before_it() -> None:
    terminal = Terminal()
    terminal.show(LOADING, READ, ProseItem(text="Now ls."), ASKED, state="waiting", words=QUESTION)
    terminal.screen.show_open()
    assert terminal.out.getvalue() == f"  ✓ Read  a.txt  9 lines\n  Now ls.\n\n{QUESTION}\n"


def test_what_stood_before_one_question_does_not_stand_before_the_next() -> None:
    terminal = Terminal()
    terminal.show(READ, ASKED, state="waiting", words=QUESTION)
    terminal.screen.show_open()
    terminal.out.truncate(0)
    terminal.out.seek(0)
    ran = ASKED.model_copy(update={"state": "ok", "result": "b.txt", "approvals": ()})
    again = ASKED.model_copy(update={"number": 3})
    terminal.show(READ, ran, again, state="waiting", words=QUESTION)
    terminal.screen.show_open()
    assert terminal.out.getvalue() == f"  ✓ Run  ls  b.txt\n\n{QUESTION}\n"


def test_the_end_shows_the_whole_turn() -> None:
    terminal = Terminal()
    terminal.show(ASKED, state="waiting", words=QUESTION)
    terminal.screen.show_open()
    terminal.show(READ, state="done", outcome="completed", answer="It is done.")
    terminal.screen.end()
    assert terminal.out.getvalue().endswith(
        "✓ Done · a\n\n  ✓ Read  a.txt  9 lines\n\nIt is done.\n\n"
    )


def test_nothing_ticks_while_somebody_types() -> None:
    terminal = Terminal()
    terminal.show(LOADING)
    terminal.screen.is_asking = True
    before = terminal.out.getvalue()
    terminal.now = 5.0
    terminal.screen.tick()
    assert terminal.out.getvalue() == before


@pytest.mark.parametrize("data", [{}, {TRANSCRIPT_MIME: {"version": 9}}, {TRANSCRIPT_MIME: "x"}])
def test_what_is_no_record_is_no_turn(data: dict[str, Any]) -> None:
    assert read_turn(data) is None
