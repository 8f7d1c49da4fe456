"""What a pull writes beside a file that it has checked: which file that was. Pure."""

from __future__ import annotations

import json
import os
from pathlib import Path

from shard_jupyter.capabilities.local_models.catalog.catalog_model import CatalogModel


def mark_path(target: Path) -> Path:
    return target.with_name(f"{target.name}.json")


def write_mark(model: CatalogModel, look: os.stat_result) -> bytes:
    """Write the mark of a file that has the hash of `model`."""
    values = {
        "sha256": model.sha256,
        "size": look.st_size,
        "mtime_ns": look.st_mtime_ns,
        "name": model.name,
    }
    return json.dumps(values).encode()


def is_mark_of(data: bytes, model: CatalogModel, look: os.stat_result) -> bool:
    """Say whether a mark belongs to this file of `model`, which nobody has touched since."""
    try:
        values = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        return False
    if not isinstance(values, dict) or look.st_size != model.size_bytes:
        return False
    said = (values.get("sha256"), values.get("size"), values.get("mtime_ns"))
    return said == (model.sha256, look.st_size, look.st_mtime_ns)
