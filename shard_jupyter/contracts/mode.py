"""A mode is policy as data (Shard §4.4): the loop never asks which mode it is in."""

from __future__ import annotations

from typing import Protocol

from shard_jupyter.types.decisions import Rule
from shard_jupyter.types.plans import PlanArtifact
from shard_jupyter.types.wire_model import WireModel


class Mode(WireModel):
    """A policy bundle.

    `tools` are globs over names; a tool that no glob matches is not offered. `read_only` also
    takes away every tool that is not read-only, and is the mode's veto at the gate.
    `turn_end_extractor` names a registered extractor that looks at the last answer.
    """

    name: str
    description: str
    tools: tuple[str, ...] = ("*",)
    read_only: bool = False
    prompt_section: str = ""
    rules: tuple[Rule, ...] = ()
    turn_end_extractor: str | None = None


class TurnEndExtractor(Protocol):
    """Pure: from the last answer to something worth keeping on the lineage, or None."""

    def __call__(self, answer: str) -> PlanArtifact | None: ...
