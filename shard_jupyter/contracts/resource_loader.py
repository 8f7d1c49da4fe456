"""Typed loaders of user and project files (Shard §4.9). One loader a format."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Protocol, TypeVar

from shard_jupyter.types.wire_model import WireModel

Snapshot_co = TypeVar("Snapshot_co", covariant=True)


class ResourceRoot(WireModel):
    """A folder to look in. Roots are injected; no loader knows a fixed place."""

    layer: Literal["bundled", "user", "project"]
    path: Path
    trusted: bool


class LoadDiagnostic(WireModel):
    """Something a loader left out, and why."""

    path: str
    message: str
    tone: Literal["info", "warn", "error"] = "warn"


class ResourceLoader(Protocol[Snapshot_co]):
    async def load(self, roots: Sequence[ResourceRoot]) -> Snapshot_co:
        """Read everything once. A broken file is a diagnostic, never an exception."""
        ...
