"""Our own downloads: `models/FILE` below SHARD_HOME, and beside it what the check of it said."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from shard_jupyter.capabilities.local_models.catalog.catalog_model import CATALOG, CatalogModel
from shard_jupyter.capabilities.local_models.catalog.checked_mark import is_mark_of, mark_path
from shard_jupyter.capabilities.local_models.found.candidate import Candidate
from shard_jupyter.capabilities.local_models.found.folder_files import (
    FolderRules,
    make_candidate,
    pick_models,
)
from shard_jupyter.capabilities.local_models.found.search import Search

_RULES = FolderRules("shard")


def find_own_downloads(search: Search, models_home: Path) -> Iterator[Candidate]:
    for found in pick_models(search, search.list_folder(models_home), _RULES):
        yield name_own_download(search, found, models_home)


def find_own_download(search: Search, model: CatalogModel, models_home: Path) -> Candidate | None:
    """Find the checked download of one model, without a look at anything else."""
    path = models_home / model.file_name
    if not is_checked(search, path, model):
        return None
    found = make_candidate(search, path, _RULES)
    return None if found is None else name_own_download(search, found, models_home)


def name_own_download(search: Search, found: Candidate, models_home: Path) -> Candidate:
    """Give a download the name of its entry, when the check of it still holds.

    By what the file is, not what it is called: a link beside it may lead to another of that name.
    """
    for model in CATALOG:
        path = models_home / model.file_name
        look = search.look_at(path)
        is_it = look is not None and (look.st_dev, look.st_ino) == found.identity
        if is_it and is_checked(search, path, model):
            return replace(found, catalog_name=model.name, title=model.title)
    return found


def is_checked(search: Search, path: Path, model: CatalogModel) -> bool:
    """Say whether a file has the hash of its entry: it was checked and has not changed since."""
    look = search.look_at(path)
    data = search.read_small_file(mark_path(path))
    return look is not None and data is not None and is_mark_of(data, model, look)
