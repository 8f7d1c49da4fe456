"""One model file that was found."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Store = Literal["shard", "ollama", "lm-studio", "hub-cache", "llama.cpp", "folder", "path"]


@dataclass(frozen=True)
class FoundModel:
    """A GGUF file on this machine.

    Attributes:
        row_id: 16 hex digits, the hash of the canonical path; the routing id is
            `local:gguf:<row_id>`.
        path: canonical; the first part of a split model.
        title: for people: `qwen2.5-coder:0.5b` as Ollama names it, or the file's name.
        size_bytes: of all parts together.
        catalog_name: the entry of the catalogue that a pull has checked the file against; empty
            for other files, whatever their store calls them.
        projector: the file that lets the model see images, if one lies beside it.
    """

    row_id: str
    path: Path
    store: Store
    title: str
    size_bytes: int
    catalog_name: str = ""
    projector: Path | None = None

    @property
    def model_id(self) -> str:
        """The routing id that is shown: by name where the name is certain."""
        return f"local:gguf:{self.catalog_name or self.row_id}"
