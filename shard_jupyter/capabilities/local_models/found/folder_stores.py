"""Stores that are folders with .gguf files in them (reference §4)."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from shard_jupyter.capabilities.local_models.found.candidate import Candidate
from shard_jupyter.capabilities.local_models.found.folder_files import FolderRules, pick_models
from shard_jupyter.capabilities.local_models.found.search import (
    Search,
    find_canonical,
    show_path,
)

_SNAPSHOT_DEPTH = 3
_FOLDER_DEPTH = 4
"""Levels of a configured folder, itself among them."""


def find_in_lm_studio(search: Search, home: Path) -> Iterator[Candidate]:
    """Find `publisher/repo/file.gguf`; LM Studio shows nothing that lies elsewhere."""
    for publisher in search.list_folders_in(home):
        for repo in search.list_folders_in(publisher):
            rules = FolderRules("lm-studio", f"{publisher.name}/{repo.name}/", one_family=True)
            yield from pick_models(search, search.list_folder(repo), rules)


def find_in_hub_cache(search: Search, home: Path) -> Iterator[Candidate]:
    """Find `models--org--name/snapshots/REVISION/….gguf`: links to blobs, or plain files."""
    for repo in search.list_folder(home):
        if not repo.name.startswith("models--"):
            continue
        name = repo.name.removeprefix("models--").replace("--", "/", 1)
        rules = FolderRules("hub-cache", f"{name}/", one_family=True)
        for revision in search.list_folders_in(repo / "snapshots"):
            yield from _walk(search, revision, rules, _SNAPSHOT_DEPTH, set())


def find_in_flat_folder(search: Search, home: Path, rules: FolderRules) -> Iterator[Candidate]:
    yield from pick_models(search, search.list_folder(home), rules)


def find_in_configured_folder(search: Search, folder: Path, home: Path) -> Iterator[Candidate]:
    """Find files in a folder that a person named, a few levels deep, never a whole home folder."""
    if not search.is_folder(folder):
        search.note(f"{show_path(folder)} is no folder.")
    elif find_canonical(home).is_relative_to(find_canonical(folder)):
        search.note(
            f"{show_path(folder)} holds your whole home folder: name the folder of the models."
        )
    else:
        yield from _walk(search, folder, FolderRules("folder"), _FOLDER_DEPTH, set())


def list_lm_studio_homes(home: Path, environ: Mapping[str, str]) -> list[Path]:
    """List where LM Studio keeps models, now and in older versions."""
    new = environ.get("LMSTUDIO_HOME")
    return [
        (Path(new) if new else home / ".lmstudio") / "models",
        home / ".cache/lm-studio/models",
    ]


def find_hub_home(home: Path, environ: Mapping[str, str]) -> Path:
    if cache := environ.get("HF_HUB_CACHE"):
        return Path(cache)
    if hub := environ.get("HF_HOME"):
        return Path(hub) / "hub"
    return _find_cache_home(home, environ) / "huggingface/hub"


def list_llama_cpp_homes(home: Path, environ: Mapping[str, str]) -> list[Path]:
    if cache := environ.get("LLAMA_CACHE"):
        return [Path(cache)]
    if sys.platform == "darwin":
        return [home / "Library/Caches/llama.cpp"]
    return [_find_cache_home(home, environ) / "llama.cpp"]


def _find_cache_home(home: Path, environ: Mapping[str, str]) -> Path:
    return Path(environ.get("XDG_CACHE_HOME") or home / ".cache")


def _walk(
    search: Search, folder: Path, rules: FolderRules, depth: int, seen: set[tuple[int, int]]
) -> Iterator[Candidate]:
    """Go through a folder and those in it; a link that leads back is not followed twice."""
    look = search.look_at(folder)
    if look is None or (look.st_dev, look.st_ino) in seen:
        return
    seen.add((look.st_dev, look.st_ino))
    paths = search.list_folder(folder)
    yield from pick_models(search, paths, rules)
    if depth > 1:
        for path in paths:
            if search.is_folder(path):
                yield from _walk(search, path, rules, depth - 1, seen)
