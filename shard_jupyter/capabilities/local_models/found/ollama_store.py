"""Models of Ollama: a manifest names the blob that is the model (reference §4)."""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shard_jupyter.capabilities.local_models.found.candidate import Candidate
from shard_jupyter.capabilities.local_models.found.search import Search, find_canonical
from shard_jupyter.capabilities.local_models.gguf.peek_kind import peek_kind
from shard_jupyter.capabilities.local_models.gguf.refusals import BadModelFile
from shard_jupyter.capabilities.local_models.gguf.safe_text import make_safe_text

SYSTEM_MODELS = Path("/usr/share/ollama/.ollama/models")
"""Where the service keeps them that is installed for a whole machine."""
_LAYER = "application/vnd.ollama.image."
_DIGEST = re.compile(r"sha256[:-]([0-9a-f]{64})")


@dataclass(frozen=True)
class Layer:
    kind: str
    sha256: str
    size: int


def find_in_ollama(search: Search, home: Path) -> Iterator[Candidate]:
    """Find the models in one models folder of Ollama, by the names that Ollama shows."""
    for host in search.list_folders_in(home / "manifests"):
        for namespace in search.list_folders_in(host):
            for model in search.list_folders_in(namespace):
                for tag in search.list_folder(model):
                    if not tag.name.startswith("."):
                        yield from _find_one(search, home, tag)


def name_model(host: str, namespace: str, model: str, tag: str) -> str:
    """Name a model as Ollama does, without what is usual."""
    name = f"{model}:{tag}"
    if (host, namespace) == ("registry.ollama.ai", "library"):
        return name
    return f"{namespace}/{name}" if host == "registry.ollama.ai" else f"{host}/{namespace}/{name}"


def parse_manifest(data: bytes) -> tuple[Layer, ...] | None:
    """Read the layers; None for what is no manifest of the known form."""
    try:
        manifest = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(manifest, dict) or manifest.get("schemaVersion") != 2:
        return None
    entries = manifest.get("layers")
    if entries is None:
        return ()
    if not isinstance(entries, list):
        return None
    layers = tuple(_parse_layer(entry) for entry in entries)
    known = tuple(layer for layer in layers if layer is not None)
    return known if len(known) == len(layers) else None


def _parse_layer(entry: Any) -> Layer | None:  # noqa: ANN401 - it is what a file holds
    if not isinstance(entry, dict):
        return None
    kind, digest, size = entry.get("mediaType"), entry.get("digest"), entry.get("size")
    if not isinstance(kind, str) or not isinstance(digest, str) or not isinstance(size, int):
        return None
    found = _DIGEST.fullmatch(digest)
    return Layer(kind, found[1], size) if found else None


def _find_one(search: Search, home: Path, tag: Path) -> Iterator[Candidate]:
    host, namespace, model, name = tag.parts[-4:]
    title = make_safe_text(name_model(host, namespace, model, name))
    data = search.read_small_file(tag)
    if data is None:
        return
    layers = parse_manifest(data)
    if layers is None:
        search.note(f"{title} has a manifest of an unknown form.")
        return
    models = [layer for layer in layers if layer.kind == f"{_LAYER}model"]
    if len(models) != 1:
        pieces = any(layer.kind == f"{_LAYER}tensor" for layer in layers)
        what = "is kept in pieces" if pieces else "has no model file on this machine"
        search.note(f"{title} {what}: only Ollama itself can run it.")
        return
    projectors = [layer for layer in layers if layer.kind == f"{_LAYER}projector"]
    projector = _find_blob(search, home, projectors[0], title) if projectors else None
    found = _make_candidate(search, home, models[0], title, projector)
    if found is not None:
        yield found


def _make_candidate(
    search: Search, home: Path, layer: Layer, title: str, projector: Path | None
) -> Candidate | None:
    blob = _find_blob(search, home, layer, title)
    look = search.look_at(blob) if blob else None
    if blob is None or look is None:
        return None
    try:
        if peek_kind(blob) != "model":
            return None
    except BadModelFile as error:
        search.note(f"{title}: {error.message}")
        return None
    return Candidate(
        path=blob,
        store="ollama",
        title=title,
        size_bytes=look.st_size,
        identity=(look.st_dev, look.st_ino),
        projector=projector,
    )


def _find_blob(search: Search, home: Path, layer: Layer, title: str) -> Path | None:
    blob = home / "blobs" / f"sha256-{layer.sha256}"
    look = search.look_at(blob)
    if look is None or not stat.S_ISREG(look.st_mode):
        search.note(f"{title} is listed, and its file is not there.")
        return None
    if look.st_size != layer.size:
        search.note(f"{title} is not complete: {look.st_size} of {layer.size} bytes.")
        return None
    return find_canonical(blob)
