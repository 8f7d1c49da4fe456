"""A plan, as plan mode leaves it on the lineage (Shard §4.4)."""

from __future__ import annotations

from typing import Literal

from shard_jupyter.types.wire_model import KeptModel


class PlanStep(KeptModel):
    text: str
    done: bool = False


class PlanArtifact(KeptModel):
    artifact_kind: Literal["plan"] = "plan"
    title: str = ""
    steps: tuple[PlanStep, ...]
