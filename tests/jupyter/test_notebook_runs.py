"""Notebooks run by our own runner: the outputs of nbclient, a person's answers, every way to end."""

from __future__ import annotations

import contextlib
import io
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest
from nbclient.client import NotebookClient
from nbformat import NotebookNode, v4

from shard_jupyter.errors import UserError
from shard_jupyter.surfaces.notebook_runs.answers import Answers, Nobody
from shard_jupyter.surfaces.notebook_runs.notebook_file import save_notebook
from shard_jupyter.surfaces.notebook_runs.run_notebook import run_notebook
from shard_jupyter.surfaces.notebook_runs.run_outcome import RunOutcome
from shard_jupyter.surfaces.notebook_runs.run_view import TextView
from tests.child_watch import alive, assert_no_new_child, children
from tests.jupyter.headless import notebook, read_notebook
from tests.jupyter.kernel import kernel_environ
from tests.notebook_scripts import NOTEBOOKS

pytestmark = [pytest.mark.proves("D12"), pytest.mark.timeout(120)]
OUTPUTS = [
    "print('a'); print('b')\n1 + 1",
    "import sys\nprint('c', file=sys.stderr)",
    "from IPython.display import clear_output, display\nshown = display('first', display_id=True)",
    "shown.update('second')\n_ = display('again', display_id=shown.display_id)",
    "print('gone')\nclear_output(wait=True)\nprint('kept')",
    "print('all'); clear_output()",
    "%%html\n<b>x</b>",
    "",
    "'\\ud83d'",
    "1/0",
    "3",
]


class Told:
    """Answers with what a test has written down, and keeps what was asked."""

    has_person = True

    def __init__(self, *lines: str | None) -> None:
        self.lines = list(lines)
        self.asked: list[tuple[str, bool]] = []

    async def answer(self, prompt: str, *, is_password: bool) -> str | None:
        self.asked.append((prompt, is_password))
        return self.lines.pop(0)


class Rig:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.out = io.StringIO()
        self.folder = root / "work"
        self.folder.mkdir()
        self.path = self.folder / "n.ipynb"

    def write(self, *cells: str) -> NotebookNode:
        made = notebook(*cells)
        save_new(self.path, made)
        return made

    def run(
        self, answers: Answers | None = None, environ: Mapping[str, str] | None = None
    ) -> RunOutcome:
        view = TextView(self.out, lambda line, _: line, shows_state=False)

        async def run() -> RunOutcome:
            with anyio.fail_after(60):
                return await run_notebook(
                    self.path,
                    environ=kernel_environ(self.root, environ),
                    answers=answers or Nobody(),
                    view=view,
                )

        before = children()
        outcome = anyio.run(run)
        assert_no_new_child(before)
        return outcome

    @property
    def cells(self) -> list[NotebookNode]:
        return list(read_notebook(self.path).cells)

    def output(self, cell: int) -> NotebookNode:
        (output,) = self.cells[cell].outputs
        return output


def save_new(path: Path, made: NotebookNode) -> None:
    path.touch()
    save_notebook(path, made)


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


def merge_streams(cells: list[NotebookNode]) -> list[list[dict[str, Any]]]:
    """The outputs, as JupyterLab keeps them: neighbours of one stream in one output."""
    found = []
    for cell in cells:
        merged: list[dict[str, Any]] = []
        for output in cell.get("outputs", ()):
            last = merged[-1] if merged else {}
            if output.output_type == "stream" and last.get("name") == output.name:
                last["text"] += output["text"]
            else:
                merged.append(dict(output))
        found.append(merged)
    return found


def run_by_nbclient(made: NotebookNode, rig: Rig, **options: Any) -> NotebookNode:
    client = NotebookClient(made, resources={"metadata": {"path": str(rig.folder)}}, **options)
    client.execute(env=kernel_environ(rig.root))
    return made


def test_all_outputs_are_those_that_nbclient_stores(rig: Rig) -> None:
    theirs = rig.write(*OUTPUTS)
    for made in (theirs, ours := read_notebook(rig.path)):
        made.cells[-2].metadata["tags"] = ["raises-exception"]
        made.cells.insert(0, v4.new_markdown_cell("# Title", id="title"))
        made.cells.append(v4.new_code_cell("skipped", metadata={"tags": ["skip-execution"]}))
    save_new(rig.path, ours)
    run_by_nbclient(theirs, rig)
    outcome = rig.run()
    assert (outcome.state, outcome.cells_run, outcome.failure) == ("done", 10, "")
    assert merge_streams(rig.cells) == merge_streams(theirs.cells)
    counts = [cell.get("execution_count") for cell in theirs.cells]
    assert [cell.get("execution_count") for cell in rig.cells] == counts
    shown = rig.out.getvalue()
    assert "ZeroDivisionError: division by zero\n" in shown
    assert "Title\n" in shown
    assert "\x1b" not in shown


def test_a_replayed_notebook_has_the_outputs_that_are_stored_with_it(rig: Rig) -> None:
    shutil.copytree(NOTEBOOKS, rig.folder, dirs_exist_ok=True)
    shutil.copy(rig.folder / "02_replay.ipynb", rig.path)
    stored = rig.cells
    outcome = rig.run()
    assert outcome.state == "done"
    assert merge_streams(rig.cells) == merge_streams(stored)


def test_what_a_cell_asks_is_answered_and_the_end_of_the_input_is_told(rig: Rig) -> None:
    rig.write(
        "print('first'); name = input('name? ')",
        "from getpass import getpass\nsecret = getpass('word? ')",
        "try:\n    input()\nexcept EOFError:\n    print('no more')",
        "name + secret",
    )
    person = Told("Ada", "x", None)
    outcome = rig.run(person)
    assert outcome.state == "done"
    assert person.asked == [("name? ", False), ("word? ", True), ("", False)]
    assert rig.output(2).text == "no more\n"
    assert rig.output(3).data["text/plain"] == "'Adax'"


def test_where_nobody_is_a_question_fails_its_cell(rig: Rig) -> None:
    rig.write("input('name? ')", "never")
    outcome = rig.run()
    assert (outcome.state, outcome.cells_run, outcome.cells) == ("failed", 1, 2)
    assert outcome.failure.startswith("StdinNotImplementedError: ")


def test_the_first_cell_that_fails_ends_the_run_and_is_kept(rig: Rig) -> None:
    rig.write("print('before')", "raise ValueError('no\\nsecond line')", "print('never')")
    outcome = rig.run()
    assert (outcome.state, outcome.cells_run) == ("failed", 2)
    assert outcome.failure == "ValueError: no"
    assert rig.output(0).text == "before\n"
    assert (rig.output(1).ename, rig.output(1).evalue) == ("ValueError", "no\nsecond line")
    assert rig.cells[2].outputs == []
    assert "ValueError: no\n" in rig.out.getvalue()


def test_a_syntax_error_is_a_failure_too(rig: Rig) -> None:
    rig.write("def")
    outcome = rig.run()
    assert outcome.state == "failed"
    assert outcome.failure.startswith("SyntaxError: ")


def test_half_a_character_in_a_cell_is_refused_and_stays_in_the_file(rig: Rig) -> None:
    rig.write("'\ud83d'")
    outcome = rig.run()
    assert outcome.state == "failed"
    assert "half a character" in outcome.failure
    assert rig.cells[0].source == "'\ud83d'"


def test_each_cell_is_saved_when_it_is_done(rig: Rig) -> None:
    rig.write(
        "print('one')",
        "import json; saved = json.load(open('n.ipynb'))",
        "saved['cells'][0]['outputs']",
    )
    rig.run()
    assert "one" in rig.output(2).data["text/plain"]


def test_a_kernel_that_dies_is_told_with_what_it_said(rig: Rig) -> None:
    rig.write("print('x')", "import os; os._exit(7)", "never")
    outcome = rig.run()
    assert (outcome.state, outcome.cells_run) == ("failed", 2)
    assert outcome.failure.startswith("The kernel ended with exit code 7")
    assert rig.output(0).text == "x\n"


def test_a_kernel_that_cannot_start_says_why(rig: Rig) -> None:
    rig.write("1")
    broken = rig.root / "broken/ipykernel"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text("raise ImportError('broken here')", encoding="utf-8")
    with pytest.raises(UserError, match="ImportError: broken here"):
        rig.run(environ={"PYTHONPATH": str(broken.parent)})


def test_a_file_of_the_folder_takes_no_module_s_place_at_the_start(rig: Rig) -> None:
    rig.write("import shard_jupyter; shard_jupyter.__version__", "import own; own.x")
    for name in ("shard_jupyter", "ipykernel", "runpy", "own"):
        (rig.folder / f"{name}.py").write_text("x = 'mine'", encoding="utf-8")
    outcome = rig.run()
    assert outcome.state == "done", outcome
    assert rig.output(1).data["text/plain"] == "'mine'"


def test_what_a_cell_left_running_is_gone_with_the_kernel(rig: Rig) -> None:
    rig.write(
        "import subprocess\nchild = subprocess.Popen(['sleep', '600'], start_new_session=True)",
        "import psutil; psutil.Process(child.pid).status()",
    )
    outcome = rig.run()  # looks for children, adopted ones too
    assert outcome.state == "done"
    assert processes_named(rig, "sleep") == []


def processes_named(rig: Rig, name: str) -> list[psutil.Process]:
    """Processes of this rig: its folder is their home."""
    found = []
    for process in psutil.process_iter(["name"]):
        with contextlib.suppress(psutil.Error):
            if process.info["name"] == name and process.environ().get("HOME") == str(rig.root):
                found.append(process)
    return alive(found)
