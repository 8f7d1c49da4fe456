"""What a person means by the name of a model that can be fetched."""

from __future__ import annotations

from difflib import get_close_matches

from shard_jupyter.capabilities.local_models.catalog.catalog_model import (
    CATALOG,
    CatalogModel,
    find_in_catalog,
)
from shard_jupyter.errors import UnknownModel


def strip_prefix(name: str) -> str:
    """Take what stands behind `gguf:` in a routing id; a bare name stays."""
    return name.removeprefix("local:").removeprefix("gguf:")


def find_named_model(name: str) -> CatalogModel:
    """Find an entry of the catalogue by its name or routing id.

    Raises:
        UnknownModel: there is none; names those that come near.
    """
    bare = strip_prefix(name)
    model = find_in_catalog(bare)
    if model is not None:
        return model
    names = [entry.name for entry in CATALOG]
    near = get_close_matches(bare.lower(), names, n=2, cutoff=0.5)
    hint = f"Did you mean {' or '.join(near)}? " if near else ""
    raise UnknownModel(
        f"There is no model {name!r} to fetch.",
        next_step=f"{hint}Known: {', '.join(names)}.",
    )
