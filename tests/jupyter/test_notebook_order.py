"""nbval runs the cells of our notebooks in their order, though tests are shuffled here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.notebook_scripts import NOTEBOOKS

pytestmark = [pytest.mark.proves("D12", "J3.39"), pytest.mark.timeout(120)]


@pytest.mark.parametrize("seed", ["1", "2"])
def test_cells_are_not_shuffled(seed: str, tmp_path: Path) -> None:
    command = [
        sys.executable, "-m", "pytest", "--collect-only", "-q", "--nbval",
        f"--randomly-seed={seed}", "-p", "no:cacheprovider", "02_replay.ipynb",
    ]  # fmt: skip
    done = subprocess.run(
        command, cwd=NOTEBOOKS, capture_output=True, encoding="utf-8", timeout=60, check=True
    )
    cells = [line.partition("::")[2] for line in done.stdout.split("\n") if "::" in line]
    assert cells == [f"Cell {number}" for number in range(len(cells))]
    assert len(cells) == 8
