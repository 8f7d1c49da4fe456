"""A cell that fails fails its run, whatever runs it, and says what to do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import nbformat
import pytest
from nbclient.client import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode

from tests.fakes.model_server import MockModel, model_server
from tests.jupyter.failing_cells import FAILURES, SETTINGS, Failing
from tests.jupyter.headless import LOAD, Scratch, notebook, open_client, shard

__all__ = ["model_server"]
pytestmark = [pytest.mark.proves("D09", "J3.10"), pytest.mark.timeout(180)]

KEEP = "import os\nkept = dict(os.environ)"
RESET = "os.environ.clear()\nos.environ.update(kept)"
OURS = ("Traceback", "shard_jupyter/", 'File "')
EACH = [pytest.param(failing, id=failing.name) for failing in FAILURES]


def each_but_slow(*quick: str) -> list[Any]:
    """All failures; those that are not named run in the slow suite only."""
    return [
        pytest.param(
            failing, id=failing.name, marks=[pytest.mark.slow] * (failing.name not in quick)
        )
        for failing in FAILURES
    ]


def check_told(failing: Failing, told: str) -> None:
    for part in failing.told:
        assert part in told


def check_error(failing: Failing, cell: NotebookNode) -> None:
    """Its one error output is one line, after the record of the turn where there was one."""
    *before, error = cell.outputs
    assert [output.output_type for output in before] == ["display_data"] * failing.has_turn
    assert (error.output_type, error.ename) == ("error", failing.error)
    check_told(failing, error.evalue)
    (line,) = error.traceback
    assert line == f"{error.ename}: {error.evalue}"
    assert "\n" not in line
    if before:
        assert failing.told[-1].split("{")[0] in before[0].data["text/plain"]


@pytest.fixture
def scratch(tmp_path_factory: pytest.TempPathFactory, model_server: MockModel) -> Scratch:
    made = Scratch(tmp_path_factory.mktemp("failures"), model_server.url)
    made.configure(**SETTINGS)
    return made


@pytest.fixture(scope="module")
def client(
    tmp_path_factory: pytest.TempPathFactory, model_server: MockModel
) -> Iterator[NotebookClient]:
    """A running kernel and its notebook: four cells for each failure, none of them run."""
    scratch = Scratch(tmp_path_factory.mktemp("nbclient"), model_server.url)
    scratch.configure(**SETTINGS)
    cells = [
        cell
        for failing in FAILURES
        for cell in (failing.before, failing.cell, failing.without_raising(), RESET)
    ]
    with open_client(scratch, notebook(LOAD, KEEP, *cells)) as client:
        run_cell(client, 0)
        run_cell(client, 1)
        yield client


def run_cell(client: NotebookClient, at: int) -> NotebookNode:
    return client.execute_cell(client.nb.cells[at], at)


@pytest.mark.parametrize("failing", EACH)
def test_nbclient_raises_and_tells_it_in_one_line(client: NotebookClient, failing: Failing) -> None:
    at = 2 + 4 * FAILURES.index(failing)
    run_cell(client, at)
    try:
        with pytest.raises(CellExecutionError) as raised:
            run_cell(client, at + 1)
        told = str(raised.value)
        assert failing.cell.strip() in told
        check_told(failing, told)
        assert not [part for part in OURS if part in told]
        check_error(failing, client.nb.cells[at + 1])
        if failing.has_turn:
            (output,) = run_cell(client, at + 2).outputs
            assert output == client.nb.cells[at + 1].outputs[0]
            check_told(failing, output.data["text/plain"])
    finally:
        run_cell(client, at + 3)


@pytest.mark.parametrize("failing", each_but_slow("unknown model", "nobody to ask"))
def test_jupyter_execute_ends_with_an_error_and_runs_nothing_more(
    scratch: Scratch, failing: Failing
) -> None:
    path = scratch.write(failing.before, failing.cell, "open('later', 'w').close()")
    ended = scratch.execute(path)
    assert ended.code != 0
    told = ended.told[ended.told.index("following cell:") :]
    assert failing.cell.strip() in told
    check_told(failing, told)
    assert not [part for part in OURS if part in told]
    assert not (scratch.work / "later").exists()


@pytest.mark.parametrize("failing", each_but_slow("nobody to ask"))
def test_papermill_ends_with_an_error_and_keeps_it_in_the_notebook(
    scratch: Scratch, failing: Failing
) -> None:
    path = scratch.write(failing.before, failing.cell, "open('later', 'w').close()")
    ended = scratch.papermill(path)
    assert ended.code != 0
    check_told(failing, ended.told)
    (cell,) = [cell for cell in scratch.read("out.ipynb").cells if "%%shard" in cell.source]
    check_error(failing, cell)
    assert not (scratch.work / "later").exists()


@pytest.mark.slow
def test_nbconvert_ends_with_an_error_and_writes_nothing(scratch: Scratch) -> None:
    failing = FAILURES[0]
    ended = scratch.convert(scratch.write(failing.cell), "html", "--execute")
    assert ended.code != 0
    check_told(failing, ended.told)
    assert not (scratch.work / "notebook.html").exists()


@pytest.mark.proves("J3.39")
@pytest.mark.parametrize(
    "lax", [pytest.param(True, id="lax", marks=pytest.mark.slow), pytest.param(False, id="strict")]
)
def test_nbval_fails_each_cell(scratch: Scratch, lax: bool) -> None:
    cells = [cell for failing in FAILURES for cell in (failing.before, failing.cell)]
    ended = scratch.nbval(scratch.write(*cells), lax=lax)
    assert ended.code == 1
    failed = [2 + 2 * at for at in range(len(FAILURES))]
    for at in failed:
        assert f"FAILED notebook.ipynb::Cell {at}" in ended.told, ended.told
    assert f"{len(failed)} failed, {1 + len(FAILURES)} passed" in ended.told


@pytest.mark.slow
@pytest.mark.proves("J3.39")
def test_nbval_sees_a_failure_that_the_cell_does_not_raise(scratch: Scratch) -> None:
    """A run that went well is stored; the same cell fails now, and its output tells."""
    path = scratch.write(shard("Go. @@status 401", "--no-raise"))
    scratch.execute(path).check()
    stored = nbformat.read(path, as_version=4)
    (output,) = stored.cells[1].outputs
    for form in ("text/plain", "text/markdown", "text/html"):
        output.data[form] = output.data[form].replace("Incorrect API key", "Unknown")
    nbformat.write(stored, path)
    ended = scratch.nbval(path)
    assert (ended.code, "1 failed, 1 passed" in ended.told) == (1, True), ended.told
