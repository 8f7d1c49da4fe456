"""What each step of a turn has shown, for forms that cannot be opened and closed. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from shard_jupyter.surfaces.render_static.record.record_items import StepItem
from shard_jupyter.surfaces.render_static.turn_record import TurnRecord
from shard_jupyter.types.render_descriptors import (
    DiffDescriptor,
    RenderDescriptor,
    StatusDescriptor,
    TextDescriptor,
)

DETAILS = "What the steps showed"


def steps_in_full(
    record: TurnRecord,
) -> Iterator[tuple[StepItem, tuple[RenderDescriptor, ...]]]:
    """Yield the steps of a turn that has ended and showed more than their rows tell.

    What was denied is not among them: that is told where it is said why. Nor is a text that the
    answer holds, line for line.
    """
    if record.outcome is None:
        return
    for item in record.items:
        if not isinstance(item, StepItem) or item.state == "denied":
            continue
        shown = shown_parts(item, record)
        if parts := tuple(part for part in shown if not _is_in_answer(part, record.answer)):
            yield item, parts


def _is_in_answer(part: RenderDescriptor, answer: str) -> bool:
    return isinstance(part, TextDescriptor) and f"\n{part.text.strip()}\n" in f"\n{answer}\n"


def shown_parts(step: StepItem, record: TurnRecord) -> tuple[RenderDescriptor, ...]:
    """Return what is in a step beside its row and the changes that stand with their file."""
    below = {file.path for file in record.changed_files if step.number in file.steps}
    return tuple(part for part in step.render if not _is_told_elsewhere(part, step, below))


def _is_told_elsewhere(part: RenderDescriptor, step: StepItem, below: set[str]) -> bool:
    """The row says what a mere status says; a change is shown below, with its file."""
    match part:
        case StatusDescriptor():
            is_quiet = part.tone in ("info", "success") or part.label.startswith("exit code ")
            return is_quiet or part.label == step.result
        case TextDescriptor():
            return not part.text.strip() or part.text.strip() == step.result
        case DiffDescriptor():
            return part.path in below
        case _:
            return False
