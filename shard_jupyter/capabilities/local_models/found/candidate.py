"""A file that may become a row, and the row that it becomes."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from shard_jupyter.capabilities.local_models.found.found_model import FoundModel, Store
from shard_jupyter.capabilities.local_models.gguf.safe_text import make_safe_text

_ROW_ID_DIGITS = 16


@dataclass(frozen=True)
class Candidate:
    """A model file that was seen in a store.

    Attributes:
        path: canonical, as in `FoundModel`.
        identity: device and inode of `path`.
        catalog_name: the entry it was checked against when it was fetched; never what a store says.
    """

    path: Path
    store: Store
    title: str
    size_bytes: int
    identity: tuple[int, int]
    catalog_name: str = ""
    projector: Path | None = None

    def as_row(self) -> FoundModel:
        return FoundModel(
            row_id=make_row_id(self.path),
            path=self.path,
            store=self.store,
            title=make_safe_text(self.title),
            size_bytes=self.size_bytes,
            catalog_name=self.catalog_name,
            projector=self.projector,
        )


def make_row_id(path: Path) -> str:
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:_ROW_ID_DIGITS]
