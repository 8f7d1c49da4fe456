"""Looks for models in a home folder of a test."""

from __future__ import annotations

from pathlib import Path

from shard_jupyter.capabilities.local_models.found.find_models import (
    FoundModels,
    find_models,
    resolve_model,
)
from shard_jupyter.capabilities.local_models.found.found_model import FoundModel
from shard_jupyter.capabilities.local_models.model_places import ModelPlaces


def make_places(root: Path, *folders: Path, **environ: str) -> ModelPlaces:
    home = root / "home"
    home.mkdir(exist_ok=True)
    return ModelPlaces(home / "state", home, folders=folders, environ=environ)


def find(places: ModelPlaces) -> FoundModels:
    """Look everywhere but in what this machine has for all its people."""
    return find_models(places, places.home.parent / "system-ollama")


def resolve(name: str, places: ModelPlaces) -> FoundModel | None:
    return resolve_model(name, places, places.home.parent / "system-ollama")


def titles(found: FoundModels) -> list[tuple[str, str]]:
    return [(row.store, row.title) for row in found.models]
