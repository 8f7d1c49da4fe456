"""What every source works with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import anyio.to_thread

from shard_jupyter.capabilities.local_models.catalog.catalog_model import CatalogModel
from shard_jupyter.capabilities.local_models.catalog.pull_progress import (
    ProgressMeter,
    PullPhase,
    PullProgress,
)
from shard_jupyter.capabilities.local_models.catalog.pull_sources import PullSources
from shard_jupyter.capabilities.local_models.catalog.sizes_in_words import show_size
from shard_jupyter.errors import StorageError

_MARGIN_BYTES = 16 << 20


@dataclass(frozen=True)
class Errand:
    """One pull: what is wanted, where it goes, who is told."""

    model: CatalogModel
    target: Path
    sources: PullSources
    meter: ProgressMeter

    async def tell(self, phase: PullPhase, source: str, note: str = "") -> None:
        await anyio.to_thread.run_sync(
            self.meter.report, PullProgress(phase, source, 0, self.model.size_bytes, note)
        )

    async def check_space(self, needed_bytes: int) -> None:
        """Make sure that so much can still be written.

        Raises:
            StorageError: it cannot (code `disk_full`).
        """
        folder = self.target.parent
        free = await anyio.to_thread.run_sync(self.sources.free_bytes, folder)
        wanted = needed_bytes + min(_MARGIN_BYTES, self.model.size_bytes)
        if free < wanted:
            raise StorageError(
                f"{folder} has {show_size(free)} of space left, and {show_size(wanted)} are "
                "needed.",
                code="disk_full",
                next_step="Make space there, or set SHARD_HOME to a folder with more.",
            )
