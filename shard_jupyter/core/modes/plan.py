"""Plan mode: look, think, and leave a plan on the lineage; nothing is changed (Shard §4.4)."""

from __future__ import annotations

import re

from shard_jupyter.contracts.mode import Mode
from shard_jupyter.types.plans import PlanArtifact, PlanStep

PLAN = Mode(
    name="plan",
    description="Read only; ends with an implementation plan.",
    read_only=True,
    prompt_section=(
        "You are in plan mode: nothing may be changed, and only reading tools are offered. "
        "End your answer with a section headed `## Implementation Plan` that holds a numbered "
        "list of steps, one line each."
    ),
    turn_end_extractor="plan",
)

_HEADING = re.compile(r"^#{1,6}[ \t]+implementation plan[ \t]*#*[ \t]*$", re.IGNORECASE)
_OTHER_HEADING = re.compile(r"^#{1,6}[ \t]+(?P<title>\S.*)$")
_STEP = re.compile(r"^(?:\d{1,3}[.)]|[-*+])[ \t]+(?:\[(?P<tick>[ xX])\][ \t]+)?(?P<text>\S.*)$")


def extract_plan(answer: str) -> PlanArtifact | None:
    """Read the last plan section of an answer; None when there is none with a step in it.

    Steps are the items at the start of a line; what is indented below one belongs to it.
    """
    lines = answer.replace("\r\n", "\n").split("\n")
    starts = [number for number, line in enumerate(lines) if _HEADING.match(line.strip())]
    if not starts:
        return None
    steps: list[PlanStep] = []
    for line in lines[starts[-1] + 1 :]:
        if _OTHER_HEADING.match(line):
            break
        found = _STEP.match(line)
        if found:
            ticked = (found["tick"] or " ") in "xX"
            steps.append(PlanStep(text=found["text"].strip(), done=ticked))
    return PlanArtifact(steps=tuple(steps)) if steps else None


def render_active_plan(plan: PlanArtifact) -> str:
    """Write the `## Active Plan` section of the system prompt."""
    lines = [f"{n}. [{'x' if s.done else ' '}] {s.text}" for n, s in enumerate(plan.steps, 1)]
    return "\n".join(["## Active Plan", *lines])
