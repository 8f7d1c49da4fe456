"""What is put on the screen of one cell: what will not change any more, when it will not.

A display that can be replaced is shown when the cell ends, or as far as it is when the cell asks
for something; until then a line says what is going on, and for how long. Of a turn, only what is
new and what is asked is shown before its end.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import Any

from shard_jupyter.surfaces.notebook_runs.cell_outputs import find_display_id
from shard_jupyter.surfaces.notebook_runs.run_view import RunView
from shard_jupyter.surfaces.notebook_runs.turn_display import (
    count_settled,
    find_activity,
    find_new_items,
    find_question,
    read_turn,
)
from shard_jupyter.surfaces.render_static.turn_record import TurnRecord
from shard_jupyter.surfaces.render_static.words.numbers import show_clock

_SHORTEST_SECONDS = 1.0
"""What has lasted less needs no clock."""


class CellScreen:
    """`is_asking`: somebody is typing; what holds for the moment is not shown then."""

    def __init__(self, view: RunView, clock: Callable[[], float] = time.monotonic) -> None:
        self.is_asking = False
        self._view = view
        self._clock = clock
        self._open: dict[str, str] = {}
        """Text of each display that can be replaced, by its id."""
        self._turns: dict[str, TurnRecord] = {}
        self._shown: dict[str, str] = {}
        self._shown_items: dict[str, int] = {}
        self._state = ""
        self._since = clock()

    def take(self, kind: str, content: Mapping[str, Any]) -> None:
        match kind:
            case "stream":
                self._view.show_stream(content["text"])
            case "display_data" | "execute_result" | "update_display_data":
                self._take_display(kind, content)
            case "error":
                self._view.show_error(tell_error(content))
            case _:
                pass

    def tick(self) -> None:
        """Show for how long it has been so. To be called once a second."""
        if not self.is_asking:
            seconds = self._clock() - self._since
            clock = f"  {show_clock(seconds)}" if seconds >= _SHORTEST_SECONDS else ""
            self._view.show_state(f"… {self._state}{clock}" if self._state else "")

    def show_open(self) -> None:
        """Show what the open displays hold by now: somebody has to see it to answer."""
        for display_id, text in self._open.items():
            turn = self._turns.get(display_id)
            if turn is None:
                lines = find_new_lines(self._shown.get(display_id, ""), text)
                self._shown[display_id] = text
            else:
                lines = [*find_new_items(turn, self._shown_items.get(display_id, 0))]
                lines = [*lines, "", find_question(text)]
                self._shown_items[display_id] = count_settled(turn)
            self._view.show_text("\n".join(lines))
        self._state = ""
        self._view.flush()

    def end(self) -> None:
        """Show what is final now."""
        for display_id, text in self._open.items():
            shown = self._shown.get(display_id, "")
            if text.startswith(shown):
                text = text[len(shown) :].lstrip("\n")
            if text:
                self._view.show_text(text)
        self._view.end_cell()

    def _take_display(self, kind: str, content: Mapping[str, Any]) -> None:
        text = content["data"].get("text/plain")
        if not isinstance(text, str):
            return
        display_id = find_display_id(content)
        if display_id is None:
            self._view.show_text(text)
        elif kind != "update_display_data" or display_id in self._open:
            self._open[display_id] = text
            turn = read_turn(content["data"])
            if turn is not None:
                self._turns[display_id] = turn
            self._hold(find_state(text) if turn is None else find_activity(turn))

    def _hold(self, state: str) -> None:
        if state != self._state:
            self._state, self._since = state, self._clock()
        self.tick()


def find_new_lines(shown: str, text: str) -> list[str]:
    """Return the lines of `text` after those with which `shown` begins too. Pure."""
    old, new = shown.split("\n"), text.rstrip("\n").split("\n")
    return new[len(os.path.commonprefix([old, new])) :]


def find_state(text: str) -> str:
    """Return the line that says what is going on: the last one. Pure."""
    lines = [line.strip() for line in text.split("\n")]
    return next((line for line in reversed(lines) if line), "")


def tell_error(content: Mapping[str, Any]) -> str:
    """Put an `error` output, or an `error` reply, into one line. Pure."""
    name, value = str(content.get("ename", "")), str(content.get("evalue", ""))
    return f"{name}: {value}".strip().removesuffix(":").partition("\n")[0]
