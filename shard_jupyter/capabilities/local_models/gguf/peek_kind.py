"""Looks whether a file is a model, from its first bytes: a list of many files must be quick."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from shard_jupyter.capabilities.local_models.gguf.header_bytes import open_header
from shard_jupyter.capabilities.local_models.gguf.header_start import read_start
from shard_jupyter.capabilities.local_models.gguf.metadata import Metadata, read_key, read_value
from shard_jupyter.capabilities.local_models.gguf.model_fields import PROJECTORS, name_kind

FileKind = Literal["model", "projector", "other"]
_MOST_KEYS = 16
_PIECE = 4096


def peek_kind(path: Path) -> FileKind:
    """Say what the file is by its own word. Blocks.

    Raises:
        BadModelFile: it is no GGUF file, or malformed in the few keys that are read.
    """
    metadata = Metadata()
    with open_header(path, _PIECE) as source:
        _, count = read_start(source)
        for _ in range(min(count, _MOST_KEYS)):
            key = read_key(source)
            if not key.startswith("general."):
                break
            metadata.kinds[key] = source.read_uint32()
            read_value(source, metadata, key, metadata.kinds[key])
    texts = metadata.texts
    said = (texts.get("general.type", ""), texts.get("general.architecture", ""))
    if PROJECTORS.intersection(said):
        return "projector"
    return "other" if name_kind(*said) else "model"
