"""A model, a shop that may have it, and a place where it goes."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from shard_jupyter.capabilities.local_models.catalog.catalog_model import CatalogModel
from shard_jupyter.capabilities.local_models.catalog.fetch.web import Patience
from shard_jupyter.capabilities.local_models.catalog.own_files import is_checked
from shard_jupyter.capabilities.local_models.catalog.pull_model import pull_model
from shard_jupyter.capabilities.local_models.catalog.pull_progress import PullProgress
from shard_jupyter.capabilities.local_models.catalog.pull_sources import PullSources
from shard_jupyter.capabilities.local_models.model_places import ModelPlaces
from shard_jupyter.errors import UserError
from tests.fakes.model_shop import HUB_PATH, Shop, make_model, slice_into_wheels

PATIENCE = Patience(connect_seconds=5.0, stall_seconds=5.0, pauses=(0.0, 0.0, 0.0))
DATA = random.Random(7).randbytes(50_000)


@dataclass
class PullRig:
    root: Path
    shop: Shop
    data: bytes = DATA
    told: list[PullProgress] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.wheels = slice_into_wheels(self.data, 3)
        self.model: CatalogModel = make_model(self.data, self.wheels)
        self.sources = PullSources(
            hub=self.shop.url,
            indexes=(f"{self.shop.url}/simple",),
            patience=PATIENCE,
        )

    @property
    def places(self) -> ModelPlaces:
        return ModelPlaces(state_home=self.root / "state", home=self.root)

    @property
    def target(self) -> Path:
        return self.places.models_home / self.model.file_name

    @property
    def part(self) -> Path:
        return self.target.with_name(f"{self.target.name}.part")

    def use(self, **changes: object) -> None:
        self.sources = replace(self.sources, **changes)  # type: ignore[arg-type]

    async def pull(self, tell: Callable[[PullProgress], None] | None = None) -> Path:
        with anyio.fail_after(30):
            return await pull_model(
                self.model, self.places, tell=tell or self.told.append, sources=self.sources
            )

    async def pull_in_vain(self) -> str:
        """Pull, and return what the error says."""
        with pytest.raises(UserError) as caught:
            await self.pull()
        assert caught.value.code == "pull_failed"
        assert not self.target.exists()
        return str(caught.value)

    def asked_hub(self, header: str = "range") -> list[str | None]:
        return self.shop.asked(HUB_PATH, header)

    async def check_whole(self) -> None:
        """The file is right, marked, private, and nothing else is left."""
        assert self.target.read_bytes() == self.data
        assert await anyio.to_thread.run_sync(is_checked, self.model, self.target)
        assert self.target.stat().st_mode & 0o777 == 0o600
        assert self.target.parent.stat().st_mode & 0o777 == 0o700
        names = {path.name for path in self.target.parent.iterdir()}
        name = self.model.file_name
        assert names == {name, f"{name}.json", f".{name}.lock"}
