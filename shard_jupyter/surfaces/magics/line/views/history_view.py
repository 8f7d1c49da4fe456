"""The turns of a conversation as a table."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from shard_jupyter.surfaces.magics.line.chosen_agent import NO_AGENT, START
from shard_jupyter.surfaces.magics.line.stored_turns import TurnSummary
from shard_jupyter.surfaces.magics.line.views.descriptors import make_table
from shard_jupyter.surfaces.magics.line.views.line_view import LineView
from shard_jupyter.surfaces.magics.line.views.moments import say_when
from shard_jupyter.types.render_descriptors import RenderDescriptor, StatusDescriptor

SHOWN_TURNS = 20
_PROMPT_CHARACTERS = 60
_FITTING_CHARACTERS = 36
"""Of a prompt, where the table is to fit a terminal of 80 columns."""
_OUTCOMES = {
    "completed": "Done",
    "failed": "Failed",
    "cancelled": "Stopped",
    "interrupted": "Stopped",
    "limit_reached": "Limit",
}


@dataclass(frozen=True, repr=False)
class HistoryView(LineView):
    """A conversation.

    Attributes:
        session_id: None while no agent has started.
        turns: all of them, oldest first; only the newest are shown.
        cwd: paths inside it are shown without it.
    """

    session_id: str | None
    turns: tuple[TurnSummary, ...]
    cwd: str
    taken: datetime

    def describe(self) -> tuple[RenderDescriptor, ...]:
        if self.session_id is None:
            stored = "Stored conversations: %shard history --sessions"
            return (StatusDescriptor(label=f"{NO_AGENT}. {START} {stored}"),)
        if not self.turns:
            return (StatusDescriptor(label=f"Nothing was asked yet in {self.session_id}."),)
        head = ("Turn", "Prompt", "Outcome", "Steps", "Files", "When")
        rows = map(self._row, self.turns[-SHOWN_TURNS:])
        return make_table(head, rows), StatusDescriptor(label=self._advice())

    def _row(self, turn: TurnSummary) -> tuple[str, ...]:
        return (
            str(turn.number),
            shorten_prompt(turn.prompt, _FITTING_CHARACTERS),
            say_outcome(turn),
            str(turn.steps),
            ", ".join(self._shorten_path(path) for path in turn.changed_paths),
            say_when(turn.started, self.taken),
        )

    def _shorten_path(self, path: str) -> str:
        return path.removeprefix(f"{self.cwd.rstrip('/')}/")

    def _advice(self) -> str:
        hidden = len(self.turns) - SHOWN_TURNS
        left_out = f"Turns 1 to {hidden} are not shown. " if hidden > 0 else ""
        one = f"One in full: %shard history {self.turns[-1].number}."
        return f"{left_out}{one} Session: {self.session_id}"


def shorten_prompt(prompt: str, limit: int = _PROMPT_CHARACTERS) -> str:
    """Return the first line with something in it, cut to what a table can show."""
    line = prompt.strip().split("\n", 1)[0].strip()
    return f"{line[:limit]}…" if len(line) > limit else line


def say_outcome(turn: TurnSummary) -> str:
    if turn.outcome is not None:
        word = _OUTCOMES[turn.outcome]
    else:
        word = "Running" if turn.is_running else "No end written"
    return f"{word} · {turn.denied} denied" if turn.denied else word
