"""`shard models rm`: remove what was fetched, and nothing else."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import NoReturn

from shard_jupyter.capabilities.local_models.catalog.catalog_model import (
    CatalogModel,
    find_in_catalog,
)
from shard_jupyter.capabilities.local_models.catalog.remove_model import is_any_there, remove_model
from shard_jupyter.capabilities.local_models.found.find_models import resolve_model
from shard_jupyter.capabilities.local_models.model_places import ModelPlaces
from shard_jupyter.core.config.load_settings import load_settings
from shard_jupyter.errors import UserError
from shard_jupyter.surfaces.cli.exit_codes import DENIED, DONE
from shard_jupyter.surfaces.cli.fetching.named_model import find_named_model, strip_prefix
from shard_jupyter.surfaces.cli.fetching.yes_or_no import ask_yes
from shard_jupyter.surfaces.cli.output import write_lines
from shard_jupyter.surfaces.render_static.words.numbers import show_bytes
from shard_jupyter.surfaces.sdk.local_places import find_model_places

_STORES = {
    "ollama": "Ollama",
    "lm-studio": "LM Studio",
    "hub-cache": "the hub's cache",
    "llama.cpp": "llama.cpp",
    "folder": "a folder of your configuration",
    "path": "a folder of yours",
    "shard": "the models folder, put there by hand",
}


def remove_named(arguments: argparse.Namespace) -> int:
    settings = load_settings(os.environ, Path.cwd()).settings
    places = find_model_places(settings, os.environ)
    bare = strip_prefix(arguments.name)
    if find_in_catalog(bare) is None:
        _refuse_others(bare, places)
    model = find_named_model(arguments.name)
    if not is_any_there(model, places):
        _refuse_missing(model, places)
    if not arguments.yes and not ask_yes(f"Remove {model.title} from {places.models_home}?"):
        sys.stderr.write("Nothing was removed.\n")
        return DENIED
    freed = remove_model(model, places)
    if freed is None:  # somebody else was faster
        _refuse_missing(model, places)
    write_lines([f"{model.name} is removed; {show_bytes(freed)} are free again."])
    return DONE


def _refuse_missing(model: CatalogModel, places: ModelPlaces) -> NoReturn:
    _refuse_others(model.name, places)
    raise UserError(
        f"Nothing of {model.name} is in {places.models_home}.",
        code="not_here",
        next_step="`shard models list` says where models lie.",
    )


def _refuse_others(name: str, places: ModelPlaces) -> None:
    """Refuse a file that we have not fetched, in words.

    Raises:
        UserError: the name stands for such a file.
    """
    found = resolve_model(name, places)
    if found is not None:
        raise UserError(
            f"{found.path} is not ours to remove: it belongs to {_STORES[found.store]}.",
            code="not_ours",
            next_step="Remove it there. Only what `shard models pull` fetched is removed here.",
        )
