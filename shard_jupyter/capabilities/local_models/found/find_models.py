"""The model files on this machine, from all stores (reference §4). Reads only."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from shard_jupyter.capabilities.local_models.catalog.catalog_model import find_in_catalog
from shard_jupyter.capabilities.local_models.found.candidate import Candidate
from shard_jupyter.capabilities.local_models.found.folder_files import (
    FolderRules,
    find_projector,
    make_candidate,
)
from shard_jupyter.capabilities.local_models.found.folder_stores import (
    find_hub_home,
    find_in_configured_folder,
    find_in_flat_folder,
    find_in_hub_cache,
    find_in_lm_studio,
    list_llama_cpp_homes,
    list_lm_studio_homes,
)
from shard_jupyter.capabilities.local_models.found.found_model import FoundModel
from shard_jupyter.capabilities.local_models.found.ollama_store import (
    SYSTEM_MODELS,
    find_in_ollama,
)
from shard_jupyter.capabilities.local_models.found.own_downloads import (
    find_own_download,
    find_own_downloads,
    name_own_download,
)
from shard_jupyter.capabilities.local_models.found.search import Search, find_canonical
from shard_jupyter.capabilities.local_models.model_places import ModelPlaces

_ROW_ID = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True)
class FoundModels:
    """`notes` says for people what could not be read or used."""

    models: tuple[FoundModel, ...]
    notes: tuple[str, ...]


def find_models(places: ModelPlaces, system_ollama: Path = SYSTEM_MODELS) -> FoundModels:
    """Look through all stores, our own downloads first. Blocks.

    A file that several stores or names lead to is one row, of the first of them.
    """
    notes: list[str] = []
    seen: set[tuple[int, int]] = set()
    rows: list[FoundModel] = []
    for candidate in _list_candidates(places, system_ollama, notes):
        if candidate.identity in seen:
            continue
        seen.add(candidate.identity)
        rows.append(candidate.as_row())
    return FoundModels(tuple(rows), tuple(dict.fromkeys(notes)))


def resolve_model(
    name: str, places: ModelPlaces, system_ollama: Path = SYSTEM_MODELS
) -> FoundModel | None:
    """Find what stands behind `gguf:`: a name of the catalogue, a row id, a path. Blocks.

    None: there is none, or it has gone. A path may lead to what is no model; reading its header
    says so.
    """
    if name.startswith(("/", "~/")):
        return _resolve_path(name, places)
    model = find_in_catalog(name)
    if model is not None:
        # A blob that another program has named by this hash is not taken for it: nobody has looked
        # whether it still has it. A pull copies and checks such a file.
        own = find_own_download(Search("Own models", []), model, places.models_home)
        return None if own is None else own.as_row()
    if not _ROW_ID.fullmatch(name):
        return None
    rows = find_models(places, system_ollama).models
    return next((row for row in rows if row.row_id == name), None)


def _list_candidates(
    places: ModelPlaces, system_ollama: Path, notes: list[str]
) -> Iterator[Candidate]:
    home, environ = places.home, places.environ
    yield from find_own_downloads(Search("Own models", notes), places.models_home)
    for ollama in (Path(environ.get("OLLAMA_MODELS") or home / ".ollama/models"), system_ollama):
        yield from find_in_ollama(Search("Ollama", notes), ollama)
    for studio in list_lm_studio_homes(home, environ):
        yield from find_in_lm_studio(Search("LM Studio", notes), studio)
    hub = find_hub_home(home, environ)
    yield from find_in_hub_cache(Search("Hub cache", notes), hub)
    for cache in list_llama_cpp_homes(home, environ):
        rules = FolderRules("llama.cpp")
        yield from find_in_flat_folder(Search("llama.cpp", notes), cache, rules)
    for folder in places.folders:
        expanded = _expand(str(folder), home)
        yield from find_in_configured_folder(Search("Folder", notes), expanded, home)


def _resolve_path(name: str, places: ModelPlaces) -> FoundModel | None:
    path = _expand(name, places.home)
    search = Search("Path", [])
    if "\0" in name or search.look_at(path) is None:
        return None
    found = make_candidate(search, path, FolderRules("path"))
    if found is None:
        return None
    if found.path.parent == find_canonical(places.models_home):
        found = replace(found, store="shard")
        return name_own_download(search, found, places.models_home).as_row()
    beside = [other for other in search.list_folder(path.parent) if "mmproj" in other.name.lower()]
    projector = find_projector(path.name, beside, one_family=False)
    return replace(found, projector=projector).as_row()


def _expand(name: str, home: Path) -> Path:
    return home / name[2:] if name.startswith("~/") else Path(name)
