"""A run that is interrupted, told to end or killed leaves a saved notebook and no process."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import nbformat
import psutil
import pytest
from nbformat import NotebookNode

from tests.fakes.model_server import MockModel, model_server
from tests.fakes.terminal import Terminal
from tests.jupyter.headless import LOAD, Scratch, notebook, read_notebook, shard

__all__ = ["model_server"]
pytestmark = [pytest.mark.proves("D12"), pytest.mark.timeout(120)]
GONE_SECONDS = 15.0
MARK = "import pathlib, time\npathlib.Path('started').touch()"
SLEEP = f"{MARK}\ntime.sleep(600)"
ASKED = b"bash: y, s, a, e, n, ?> "
NAME = "print(input('na' + 'me? '))"
STUBBORN = f"{MARK}\nwhile True:\n    try: time.sleep(600)\n    except KeyboardInterrupt: print('no', flush=True)"


class Runner:
    """Our runner in a process of its own, over a notebook in `scratch.work`."""

    def __init__(self, scratch: Scratch, *cells: str) -> None:
        self.scratch = scratch
        self.path = scratch.work / "n.ipynb"
        nbformat.write(notebook(*cells), self.path)
        self.started = scratch.work / "started"
        self.child: subprocess.Popen[bytes] | None = None

    def command(self, who: str) -> list[str]:
        return [sys.executable, "-m", "tests.jupyter.notebook_program", str(self.path), who]

    def start(self, who: str = "nobody") -> subprocess.Popen[bytes]:
        self.child = subprocess.Popen(
            self.command(who),
            env=self.scratch.environ,
            cwd=self.scratch.work,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        return self.child

    def wait_until(self, path: Path) -> None:
        deadline = time.monotonic() + 60
        while not path.exists():
            assert self.child is None or self.child.poll() is None, self.child.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def wait_until_runs(self, name: str) -> None:
        deadline = time.monotonic() + 30
        while name not in names_of(self.scratch.left()):
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def wait_until_all_gone(self) -> None:
        """Poll: what the system ends by itself tells nobody."""
        deadline = time.monotonic() + GONE_SECONDS
        while left := self.scratch.left():
            assert time.monotonic() < deadline, [process.cmdline() for process in left]
            time.sleep(0.05)

    @property
    def cells(self) -> list[NotebookNode]:
        return list(read_notebook(self.path).cells)

    def told(self) -> str:
        assert self.child is not None
        out, _ = self.child.communicate(timeout=30)
        return out.decode()


def names_of(processes: list[psutil.Process]) -> list[str]:
    names = []
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            names.append(process.name())
    return names


@pytest.fixture
def scratch(tmp_path: Path, model_server: MockModel) -> Iterator[Scratch]:
    made = Scratch(tmp_path, model_server.url)
    made.environ["SHARD_MODEL"] = "openai:mock"
    yield made
    for process in made.left():
        process.kill()


def test_the_first_interrupt_ends_the_cell_and_with_it_the_run(scratch: Scratch) -> None:
    runner = Runner(scratch, "print('before')", SLEEP, "never")
    child = runner.start()
    runner.wait_until(runner.started)
    child.send_signal(signal.SIGINT)
    assert "interrupted: 2 of 3. KeyboardInterrupt" in runner.told()
    assert child.returncode == 130
    assert runner.cells[0].outputs[0].text == "before\n"
    assert runner.cells[1].outputs[0].ename == "KeyboardInterrupt"
    assert scratch.left() == []


@pytest.mark.parametrize("last", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_cell_that_does_not_stop_is_ended_with_the_second_signal(
    last: signal.Signals, scratch: Scratch
) -> None:
    runner = Runner(scratch, STUBBORN)
    child = runner.start()
    runner.wait_until(runner.started)
    child.send_signal(signal.SIGINT)
    assert child.stdout is not None
    assert any(line == b"no\n" for line in child.stdout), "the cell has caught the first one"
    child.send_signal(last)
    assert "interrupted: 1 of 1" in runner.told()
    assert child.returncode == 130
    assert runner.cells[0].outputs[0].text == "no\n"
    assert scratch.left() == []


def test_one_sigterm_ends_everything(scratch: Scratch) -> None:
    runner = Runner(scratch, "print('kept')", SLEEP)
    child = runner.start()
    runner.wait_until(runner.started)
    child.terminate()
    assert "interrupted: 2 of 2" in runner.told()
    assert runner.cells[0].outputs[0].text == "kept\n"
    assert scratch.left() == []


def test_an_interrupted_turn_ends_its_command_and_is_in_the_notebook(scratch: Scratch) -> None:
    ask = shard("@@shell touch started; sleep 600", model=None)
    runner = Runner(scratch, LOAD, ask)
    child = runner.start("yes")
    runner.wait_until(runner.started)
    child.send_signal(signal.SIGINT)
    assert "interrupted: 2 of 2" in runner.told()
    assert any("sleep 600" in str(output) for output in runner.cells[1].outputs)
    assert scratch.left() == []


@pytest.mark.crash
@pytest.mark.parametrize("cell", ["agent", "command"])
def test_a_runner_that_is_killed_leaves_no_kernel_and_no_agent(cell: str, scratch: Scratch) -> None:
    cells = {
        "agent": shard("@@shell touch started; sleep 600", model=None),
        "command": f"{MARK}\nimport subprocess\nsubprocess.run(['sleep', '600'])",
    }
    runner = Runner(scratch, LOAD, cells[cell])
    child = runner.start("yes")
    runner.wait_until(runner.started)
    runner.wait_until_runs("sleep")
    child.kill()
    child.communicate()
    runner.wait_until_all_gone()
    read_notebook(runner.path)


def test_a_person_answers_in_the_terminal_and_a_denial_is_told_to_the_agent(
    scratch: Scratch,
) -> None:
    allowed = shard("@@shell touch allowed", model=None)
    denied = shard("@@shell touch denied", model=None)
    runner = Runner(scratch, LOAD, NAME, allowed, denied, "print('end')")
    terminal = Terminal(runner.command("person"), cwd=scratch.work, env=scratch.environ)
    try:
        terminal.see(b"name? ")
        terminal.type(b"Ada\n")
        terminal.see(ASKED)
        assert "bash asks: Allow this command?\r\n  │ touch allowed\r\n" in terminal.seen.decode()
        assert "n  deny it; words after the n are told to the model" in terminal.seen.decode()
        terminal.type(b"maybe\n")
        terminal.see(b"That is no answer. y, s, a, e, n, ?")
        terminal.type(b"y\n")
        terminal.see(ASKED, times=2)
        terminal.type(b"n not today\n")
        assert terminal.end() == 0
    finally:
        terminal.close()
    shown = terminal.seen.decode()
    assert "Allowed by you, once" in shown
    assert "not today" in shown
    assert (scratch.work / "allowed").exists()
    assert not (scratch.work / "denied").exists()
    assert runner.cells[1].outputs[0].text == "Ada\n"
    assert scratch.left() == []


def test_ctrl_c_in_the_terminal_at_a_question_ends_the_turn(scratch: Scratch) -> None:
    runner = Runner(scratch, LOAD, shard("@@shell touch no", model=None))
    terminal = Terminal(runner.command("person"), cwd=scratch.work, env=scratch.environ)
    try:
        terminal.see(ASKED)
        terminal.type(b"\x03")
        assert terminal.end() == 130
    finally:
        terminal.close()
    # What is said of the end does not stand behind the prompt.
    assert b"\n" in terminal.seen.partition(b"^C")[2][:3]
    assert not (scratch.work / "no").exists()
    assert scratch.left() == []


def test_the_end_of_the_input_denies(scratch: Scratch) -> None:
    runner = Runner(scratch, LOAD, shard("@@shell touch no", model=None))
    terminal = Terminal(runner.command("person"), cwd=scratch.work, env=scratch.environ)
    try:
        terminal.see(ASKED)
        terminal.type(b"\x04")
        assert terminal.end() == 0
    finally:
        terminal.close()
    assert not (scratch.work / "no").exists()


def test_a_window_that_is_closed_ends_the_run(scratch: Scratch) -> None:
    runner = Runner(scratch, NAME)
    terminal = Terminal(runner.command("person"), cwd=scratch.work, env=scratch.environ)
    try:
        terminal.see(b"name? ")
        terminal.hang_up()
        terminal.child.wait(30)
        runner.wait_until_all_gone()
    finally:
        terminal.close()


def test_yes_allows_and_says_so_and_other_questions_get_an_empty_line(scratch: Scratch) -> None:
    ask = shard("@@shell touch yes", model=None)
    runner = Runner(scratch, LOAD, "line = input('name? ')", ask, "line")
    runner.start("yes")
    told = runner.told()
    assert "name?   (yes)\n" in told
    assert "bash: y, s, a, e, n, ?> y  (yes)\n" in told
    assert (scratch.work / "yes").exists()
    assert runner.cells[3].outputs[0].data["text/plain"] == "''"
