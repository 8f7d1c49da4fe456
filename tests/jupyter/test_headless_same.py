"""The same notebook gives the same outputs, however its model's answers came and wherever it runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat import NotebookNode

from tests.jupyter.headless import bundles, open_client
from tests.jupyter.sample_talk import make_notebook, outputs_as_text, talking

pytestmark = [pytest.mark.proves("D09", "J3.39"), pytest.mark.timeout(180)]


@dataclass(frozen=True)
class Run:
    chunk: int
    delay_seconds: float = 0.0
    seed: str = "random"
    cut_first: int = 0
    folder: str = "home"

    def options(self) -> dict[str, Any]:
        return {
            "chunk": self.chunk,
            "delay_seconds": self.delay_seconds,
            "seed": self.seed,
            "cut_first": self.cut_first,
        }


FIRST = Run(4096, seed="0")
QUICK = (
    Run(1, seed="1", folder="somebody else's, with a longer name"),
    Run(7, delay_seconds=0.003, seed="2", cut_first=1),
)
MORE = tuple(
    Run(chunk, delay, seed, cut_first=len(seed) % 2)
    for chunk, delay, seed in ((1, 0.001, "3"), (7, 0.0, "44"), (63, 0.02, "5"), (4096, 0.3, "66"))
)


def run_once(root: Path, run: Run) -> NotebookNode:
    made = make_notebook()
    with (
        talking(root / run.folder, **run.options()) as scratch,
        open_client(scratch, made) as client,
    ):
        for at, cell in enumerate(made.cells):
            client.execute_cell(cell, at)
    return made


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> NotebookNode:
    return run_once(tmp_path_factory.mktemp("first"), FIRST)


@pytest.mark.parametrize(
    "run", [*QUICK, *(pytest.param(run, marks=pytest.mark.slow) for run in MORE)], ids=repr
)
def test_chunks_delays_seed_folder_and_broken_tries_do_not_show(
    first: NotebookNode, tmp_path: Path, run: Run
) -> None:
    for one, other in zip(
        outputs_as_text(first), outputs_as_text(run_once(tmp_path, run)), strict=True
    ):
        assert one == other


def test_each_agent_cell_has_one_display_without_metadata(first: NotebookNode) -> None:
    shown = [cell for cell in first.cells if "--quiet" not in cell.source]
    assert len(bundles(nbformat.v4.new_notebook(cells=shown))) == 4


@pytest.mark.parametrize(
    "run", [QUICK[1], pytest.param(QUICK[0], marks=pytest.mark.slow)], ids=repr
)
def test_strict_nbval_passes_against_another_run(
    first: NotebookNode, tmp_path: Path, run: Run
) -> None:
    with talking(tmp_path / run.folder, **run.options()) as scratch:
        path = scratch.work / "notebook.ipynb"
        nbformat.write(first, path)
        scratch.nbval(path).check()
