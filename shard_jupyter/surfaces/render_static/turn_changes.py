"""The diffs of one changed file, put together and kept short. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from shard_jupyter.surfaces.render_static.plain import diff_body
from shard_jupyter.surfaces.render_static.record.record_items import ChangedFile, StepItem
from shard_jupyter.surfaces.render_static.record.recorded_files import diffs_of
from shard_jupyter.surfaces.render_static.turn_record import TurnRecord

MAX_DIFF_LINES = 60
OPEN_UP_TO = 12
"""Changed lines up to which a diff is shown open."""


@dataclass(frozen=True)
class Change:
    """Lines of a diff, each on one line whatever it holds; `hidden` more were left out."""

    lines: tuple[str, ...]
    hidden: int


def collect_change(record: TurnRecord, file: ChangedFile) -> Change:
    lines: list[str] = []
    hidden = 0
    for item in record.items:
        if isinstance(item, StepItem) and item.number in file.steps:
            for diff in diffs_of(item, file.path):
                lines += diff_body(diff)
                hidden += diff.cut_lines
    return Change(tuple(lines[:MAX_DIFF_LINES]), hidden + max(0, len(lines) - MAX_DIFF_LINES))


def is_short(file: ChangedFile) -> bool:
    return file.added + file.removed <= OPEN_UP_TO
