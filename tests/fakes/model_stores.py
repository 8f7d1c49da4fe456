"""Lays out the stores of other programs in a folder, as these programs do."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from shard_jupyter.capabilities.local_models.catalog.catalog_model import CatalogModel
from tests.fakes.gguf_file import tiny_llama

OLLAMA_LAYER = "application/vnd.ollama.image."


def write_ollama_blob(home: Path, data: bytes) -> dict[str, Any]:
    """Write a blob and return its digest and size, as a layer names them."""
    digest = hashlib.sha256(data).hexdigest()
    blob = home / "blobs" / f"sha256-{digest}"
    blob.parent.mkdir(parents=True, exist_ok=True)
    blob.write_bytes(data)
    return {"digest": f"sha256:{digest}", "size": len(data)}


def write_ollama_manifest(home: Path, name: str, layers: list[dict[str, Any]]) -> Path:
    """Write the manifest of `host/namespace/model/tag`."""
    path = home / "manifests" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    manifest = {"schemaVersion": 2, "config": {"mediaType": "x"}, "layers": layers}
    path.write_text(json.dumps(manifest), encoding="utf-8")
    return path


def write_ollama_model(
    home: Path, name: str = "registry.ollama.ai/library/tiny/latest", data: bytes | None = None
) -> Path:
    """Write a model as `ollama pull` does; returns its blob."""
    layer = write_ollama_blob(home, data if data is not None else tiny_llama().to_bytes())
    template = write_ollama_blob(home, b"{{ .Prompt }}")
    layers = [
        {"mediaType": f"{OLLAMA_LAYER}model", **layer},
        {"mediaType": f"{OLLAMA_LAYER}template", **template},
    ]
    write_ollama_manifest(home, name, layers)
    return home / "blobs" / layer["digest"].replace(":", "-")


def write_hub_file(
    hub: Path, repo: str, file_name: str, data: bytes, *, revision: str = "abc123"
) -> Path:
    """Write a file of the hub's cache, a link to a blob; returns the link."""
    folder = hub / f"models--{repo.replace('/', '--')}"
    blob = folder / "blobs" / hashlib.sha256(data).hexdigest()
    blob.parent.mkdir(parents=True, exist_ok=True)
    blob.write_bytes(data)
    link = folder / "snapshots" / revision / file_name
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(os.path.relpath(blob, link.parent))
    return link


def write_stand_in(path: Path, model: CatalogModel) -> Path:
    """Write a sparse file with the size of a model of the catalogue; it takes no room."""
    tiny_llama(name=model.title).write(path)
    os.truncate(path, model.size_bytes)
    return path


def write_own_download(models_home: Path, model: CatalogModel, **changes: Any) -> Path:
    """Write a stand-in for a checked download; `changes` spoil what the check wrote."""
    path = write_stand_in(models_home / model.file_name, model)
    look = path.stat()
    record = {"sha256": model.sha256, "size": look.st_size, "mtime_ns": look.st_mtime_ns}
    record = {**record, "name": model.name, **changes}
    path.with_name(f"{path.name}.json").write_text(json.dumps(record), encoding="utf-8")
    return path


def take_picture(root: Path) -> dict[str, tuple[int, int, int]]:
    """Note mode, size and time of all that lies below a folder, to see that nothing changed."""
    picture = {}
    for path in [root, *root.rglob("*")]:
        look = path.lstat()
        picture[str(path)] = (look.st_mode, look.st_size, look.st_mtime_ns)
    return picture
