"""The notebook that plays a recording passes strict nbval: without a key, anywhere, each time."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode

from tests.jupyter.headless import TRANSCRIPT, Scratch, bundles
from tests.notebook_scripts import NOTEBOOKS

pytestmark = [pytest.mark.proves("D12", "E04", "D05", "J3.39"), pytest.mark.timeout(180)]
NAME = "02_replay.ipynb"


def copy_notebooks(root: Path, seed: str = "random") -> Scratch:
    """A copy of the folder, with a home in which nothing is configured and no key is known."""
    scratch = Scratch(root, PYTHONHASHSEED=seed)
    shutil.copytree(NOTEBOOKS, scratch.work, dirs_exist_ok=True)
    return scratch


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> NotebookNode:
    """The notebook with outputs: those that are kept with it, else those of a run."""
    kept: NotebookNode = nbformat.read(NOTEBOOKS / NAME, as_version=4)
    if all(cell.outputs for cell in kept.cells if cell.source.startswith("%%shard")):
        return kept
    scratch = copy_notebooks(tmp_path_factory.mktemp("stored"))
    scratch.execute(scratch.work / NAME).check()
    return scratch.read(NAME)


@pytest.mark.parametrize("seed", ["1", pytest.param("2", marks=pytest.mark.slow)])
def test_strict_nbval_passes(stored: NotebookNode, tmp_path: Path, seed: str) -> None:
    scratch = copy_notebooks(tmp_path / f"another place {seed}", seed)
    nbformat.write(stored, scratch.work / NAME)
    scratch.nbval(scratch.work / NAME).check()
    assert scratch.left() == []


@pytest.mark.slow
def test_strict_nbval_sees_one_changed_word(stored: NotebookNode, tmp_path: Path) -> None:
    scratch = copy_notebooks(tmp_path)
    text = nbformat.writes(stored)
    assert text.count("There is nothing to install.") > 3
    changed = text.replace("There is nothing to install.", "There is much to install.", 1)
    (scratch.work / NAME).write_text(changed, encoding="utf-8")
    assert scratch.nbval(scratch.work / NAME).code == 1


def test_its_outputs_tell_nothing_of_the_run(stored: NotebookNode) -> None:
    for bundle in bundles(stored):
        told = json.dumps(bundle)
        for private in ("/tmp", "session-", "turn-", 'seconds": 0', str(NOTEBOOKS)):
            assert private not in told
        assert bundle[TRANSCRIPT]["seconds"] is None
        assert bundle[TRANSCRIPT]["usage"] is None


@pytest.mark.slow
@pytest.mark.proves("J3.36")
def test_papermill_and_jupyter_execute_run_it_from_another_folder(tmp_path: Path) -> None:
    scratch = copy_notebooks(tmp_path)
    scratch.run("jupyter", "execute", "--inplace", scratch.work / NAME).check()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    out = elsewhere / "out.ipynb"
    scratch.run("papermill", scratch.work / NAME, out, "--cwd", scratch.work).check()
    first, second = scratch.read(NAME), nbformat.read(out, as_version=4)
    assert bundles(first) == bundles(second)
