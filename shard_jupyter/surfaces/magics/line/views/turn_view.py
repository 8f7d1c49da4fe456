"""`%shard history N`: one turn in full, what was asked and then what its cell showed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from shard_jupyter.surfaces.magics.line.replayed_events import TurnReplay
from shard_jupyter.surfaces.magics.line.stored_turns import StoredTurn, TurnSummary, summarise
from shard_jupyter.surfaces.magics.line.views.line_view import LineView
from shard_jupyter.surfaces.magics.line.views.moments import say_when
from shard_jupyter.surfaces.render_static.bundle import make_bundle
from shard_jupyter.surfaces.render_static.kept_ends import keep_ends
from shard_jupyter.surfaces.render_static.turn_record import TurnRecord, TurnRecorder
from shard_jupyter.types.ids import new_id
from shard_jupyter.types.render_descriptors import (
    RenderDescriptor,
    StatusDescriptor,
    TextDescriptor,
)

_PROMPT_CHARACTERS = 16_384
_APART = {"text/plain": "\n\n", "text/markdown": "\n\n", "text/html": ""}


@dataclass(frozen=True, repr=False)
class TurnView(LineView):
    """One turn.

    Attributes:
        record: the data of the transcript, as a cell saves it.
    """

    summary: TurnSummary
    record: TurnRecord
    taken: datetime

    @property
    def prompt(self) -> str:
        return self.summary.prompt

    @property
    def answer(self) -> str:
        return self.summary.answer

    def describe(self) -> tuple[RenderDescriptor, ...]:
        """Say what comes before the transcript."""
        when = say_when(self.summary.started, self.taken)
        head = StatusDescriptor(label=f"Turn {self.summary.number} · {when}")
        return head, TextDescriptor(text=keep_ends(self.prompt, _PROMPT_CHARACTERS))

    def bundle(self) -> Mapping[str, object]:
        asked, shown = super().bundle(), make_bundle(self.record)
        joined = {mime: f"{asked[mime]}{apart}{shown[mime]}" for mime, apart in _APART.items()}
        return {**shown, **joined}


def show_turn(turn: StoredTurn, agent: str, now: datetime) -> TurnView:
    summary = summarise(turn)
    replay = TurnReplay(turn, new_id("agent"))
    recorder = TurnRecorder(
        agent=agent, prompt=summary.prompt, deterministic=False, clock=replay.clock
    )
    for event in replay.events():
        recorder.take(event)
    return TurnView(summary, recorder.record(), now)
