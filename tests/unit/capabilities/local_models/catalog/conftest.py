from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.model_shop import open_shop
from tests.fakes.pull_rig import PullRig


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[PullRig]:
    with open_shop() as shop:
        yield PullRig(tmp_path, shop)
