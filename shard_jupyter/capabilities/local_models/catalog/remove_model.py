"""Remove what a pull has brought. Files of other stores are never touched."""

from __future__ import annotations

import os

from shard_jupyter.capabilities.local_models.catalog.catalog_model import CatalogModel
from shard_jupyter.capabilities.local_models.catalog.own_files import (
    files_of,
    hold_lock,
    remove_files,
)
from shard_jupyter.capabilities.local_models.model_places import ModelPlaces
from shard_jupyter.errors import StorageError


def is_any_there(model: CatalogModel, places: ModelPlaces) -> bool:
    """Look whether there is something to remove. Blocks."""
    return any(map(os.path.lexists, files_of(places.models_home / model.file_name)))


def remove_model(model: CatalogModel, places: ModelPlaces) -> int | None:
    """Remove the file, its mark and the rest of unfinished pulls. Blocks.

    Returns:
        The bytes that were freed; None when there was nothing.

    Raises:
        UserError: it is being fetched right now (code `pull_busy`).
        StorageError: it cannot be removed.
    """
    target = places.models_home / model.file_name
    if not places.models_home.is_dir():
        return None
    try:
        with hold_lock(target):
            return remove_files(target)
    except OSError as error:
        raise StorageError(
            f"{error.filename or target} cannot be removed: {error.strerror}.",
            next_step="Mend its permissions, or remove it by hand.",
        ) from error
