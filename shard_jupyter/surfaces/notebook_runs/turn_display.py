"""What the display of a turn says while the turn runs: what goes on, and what is asked. Pure.

The display holds the whole record each time. On a terminal, where nothing is taken back, a person
needs what is new in it, and the question.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from shard_jupyter.surfaces.render_static.bundle import TRANSCRIPT_MIME
from shard_jupyter.surfaces.render_static.record.record_items import (
    NoticeItem,
    ProseItem,
    StepItem,
)
from shard_jupyter.surfaces.render_static.turn_plain import render_item_plain
from shard_jupyter.surfaces.render_static.turn_record import TurnRecord

THINKING = "Thinking"
_OPEN = frozenset({"queued", "running", "waiting"})


def read_turn(data: Mapping[str, Any]) -> TurnRecord | None:
    """Return the record in a display; None: it is no turn."""
    try:
        return TurnRecord.model_validate(data.get(TRANSCRIPT_MIME))
    except ValidationError:
        return None


def find_activity(turn: TurnRecord) -> str:
    """Say in a line what the turn does; empty where it waits or has ended."""
    if turn.state != "running":
        return ""
    last = turn.items[-1] if turn.items else None
    if isinstance(last, StepItem) and last.state in _OPEN:
        return f"{last.verb}  {last.target}"
    written = last.text if isinstance(last, ProseItem) and last.is_open else turn.answer
    if written.strip():
        return written.strip().rpartition("\n")[2]
    return last.message.removesuffix(" …") if isinstance(last, NoticeItem) else THINKING


def find_new_items(turn: TurnRecord, shown: int) -> Iterator[str]:
    """Render what has happened in the turn after its first `shown` items, remarks left out."""
    for item in turn.items[shown:]:
        is_open = isinstance(item, StepItem) and item.state in _OPEN
        if not is_open and not isinstance(item, NoticeItem):
            yield from render_item_plain(item)


def count_settled(turn: TurnRecord) -> int:
    """Count the items before the first call that has not run."""
    for place, item in enumerate(turn.items):
        if isinstance(item, StepItem) and item.state in _OPEN:
            return place
    return len(turn.items)


def find_question(text: str) -> str:
    """Return what a cell has put below the record.

    The one empty line of a question stands before its answers: see `show_question`.
    """
    return "\n\n".join(text.rstrip("\n").rsplit("\n\n", 2)[-2:])
