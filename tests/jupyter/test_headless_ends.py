"""A headless run ends, whatever happens in it, and leaves no process, no socket and no file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psutil
import pytest
from nbclient.client import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

from shard_jupyter.surfaces.transports.worker_log import KEPT_LOGS
from tests.fakes.model_server import MockModel, mock_model, model_server
from tests.jupyter.headless import LOAD, MODEL, Scratch, notebook, open_client, shard

__all__ = ["mock_model", "model_server"]
pytestmark = [pytest.mark.proves("D09", "J3.36"), pytest.mark.timeout(180)]

GONE_SECONDS = 10.0
TURN = shard("Go. @@shell (sleep 0.1 &) ; echo hi @@times 2", "--ask yes")
TOOL = "setsid sleep 277 & touch started; sleep 277 & sleep 277"
LONG = shard(f"Go. @@shell {TOOL}", "--ask yes")
QUIET = shard("Go. @@quirk hang @@text 100")
KILLS_ITSELF = f"""\
import os, signal, threading, time

def kill():
    while not os.path.exists("started"):
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGKILL)

threading.Thread(target=kill, daemon=True).start()
get_ipython().run_cell_magic('shard', '--model {MODEL} --ask yes', 'Go. @@shell {TOOL}')
"""


@pytest.fixture
def scratch(tmp_path: Path, mock_model: MockModel) -> Scratch:
    return Scratch(tmp_path, mock_model.url)


def check_nothing_is_left(scratch: Scratch) -> None:
    _, alive = psutil.wait_procs(scratch.left(), timeout=GONE_SECONDS)
    assert alive == [], [process.cmdline() for process in alive]
    assert scratch.left() == []
    assert scratch.sockets() == []


def files(folder: Path) -> list[str]:
    """What is there, without sessions, which are to be kept, and logs, which are bounded."""
    found = (str(path.relative_to(folder)) for path in folder.rglob("*"))
    return sorted(name for name in found if not name.startswith(("state/sessions/", "state/logs/")))


def by_nbclient(scratch: Scratch, *, store_widget_state: bool) -> None:
    made = notebook(LOAD, TURN)
    with open_client(scratch, made, store_widget_state=store_widget_state) as client:
        for at, cell in enumerate(made.cells):
            client.execute_cell(cell, at)
    (output,) = made.cells[1].outputs
    assert output.output_type == "display_data"
    assert "widgets" not in made.metadata


def test_the_tools_of_an_agent_are_found_by_their_mark(scratch: Scratch) -> None:
    """Else the other tests here would prove nothing."""
    with open_client(scratch, notebook(LOAD, shard("@@shell env", "--ask yes"))) as client:
        for at, cell in enumerate(client.nb.cells):
            client.execute_cell(cell, at)
        assert any("agent_process" in " ".join(found.cmdline()) for found in scratch.left())
    transcript = client.nb.cells[1].outputs[0].data["text/html"]
    assert scratch.mark in transcript


@pytest.mark.parametrize("store_widget_state", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_nbclient_ends_and_nothing_is_left(scratch: Scratch, store_widget_state: bool) -> None:
    by_nbclient(scratch, store_widget_state=store_widget_state)
    check_nothing_is_left(scratch)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_twenty_runs_of_every_kind_end_and_nothing_grows(scratch: Scratch) -> None:
    """Whatever is written once is written again in its place."""
    path = scratch.write(TURN)
    ways: list[Any] = [
        lambda: by_nbclient(scratch, store_widget_state=True),
        lambda: by_nbclient(scratch, store_widget_state=False),
        lambda: scratch.execute(path).check(),
        lambda: scratch.papermill(path).check(),
        lambda: scratch.convert(path, "html", "--execute").check(),
        lambda: scratch.convert(path, "markdown", "--execute").check(),
        lambda: scratch.convert(path, "script", "--execute").check(),
        lambda: scratch.nbval(path, lax=True).check(),
        lambda: scratch.nbval(path).check(),
        lambda: scratch.convert(path, "notebook", "--execute", "--inplace").check(),
    ]
    seen: list[list[str]] = []
    for _ in range(2):
        for way in ways:
            way()
            check_nothing_is_left(scratch)
        seen.append(files(scratch.root))
    assert seen[0] == seen[1]
    assert list(scratch.temp.iterdir()) == []
    # A kernel that is killed, as nbval does it, cannot remove the log of its agents.
    logs = list((scratch.root / "state/logs").iterdir())
    assert len(logs) <= KEPT_LOGS
    assert [log.read_text(encoding="utf-8") for log in logs if log.stat().st_size] == []


class TestCellTimeout:
    """The time that the runner gives a cell, not the one of `--timeout`."""

    @pytest.mark.parametrize(
        ("cell", "interrupts"),
        [
            pytest.param(LONG, True, id="tool, interrupted"),
            pytest.param(LONG, False, id="tool, killed", marks=pytest.mark.slow),
            pytest.param(QUIET, True, id="quiet, interrupted", marks=pytest.mark.slow),
            pytest.param(QUIET, False, id="quiet, killed", marks=pytest.mark.slow),
        ],
    )
    def test_the_run_ends_and_nothing_is_left(
        self, scratch: Scratch, cell: str, interrupts: bool
    ) -> None:
        made = notebook(LOAD, shard("Warm up."), cell)
        client: NotebookClient
        with open_client(scratch, made, interrupt_on_timeout=interrupts) as client:
            for at in (0, 1):
                client.execute_cell(made.cells[at], at)
            client.timeout = 2
            with pytest.raises((CellTimeoutError, CellExecutionError)) as raised:
                client.execute_cell(made.cells[2], 2)
        assert (scratch.work / "started").exists() == (cell == LONG)
        if interrupts:
            assert "Stopped. Everything so far is kept." in str(raised.value)
        check_nothing_is_left(scratch)


def test_a_kernel_that_is_killed_while_a_tool_runs_takes_everything_along(scratch: Scratch) -> None:
    made = notebook(LOAD, KILLS_ITSELF)
    with open_client(scratch, made) as client:
        client.execute_cell(made.cells[0], 0)
        with pytest.raises(DeadKernelError):
            client.execute_cell(made.cells[1], 1)
    assert (scratch.work / "started").exists()
    check_nothing_is_left(scratch)
