"""`shard demo` from end to end: scratch project, real kernel, scripted model, what is said."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.child_watch import assert_no_new_child, children
from tests.fakes.scripted_server import ScriptedServer, scripted_server
from tests.fakes.terminal import Terminal
from tests.jupyter.headless import read_notebook
from tests.notebook_scripts import NOTE, NOTEBOOKS, QUICKSTART
from tests.scenarios.command_line import ROOT, SHARD, Person

pytestmark = [pytest.mark.proves("D12", "A13"), pytest.mark.timeout(120)]
MODEL = ("--model", "openai:scripted")


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with scripted_server([step for cell in QUICKSTART for step in cell]) as server:
        yield server


@pytest.fixture
def newcomer(tmp_path: Path, server: ScriptedServer) -> Iterator[Person]:
    person = Person(tmp_path, "")
    del person.environ["PYTHONWARNINGS"]  # the kernel's libraries have warnings of their own
    person.environ |= {
        "OPENAI_BASE_URL": server.url,
        "OPENAI_API_KEY": "sk-test",
        "TMPDIR": str(tmp_path / "tmp"),
    }
    (tmp_path / "tmp").mkdir()
    before = children()
    yield person
    assert_no_new_child(before)


def scratch_of(folder: Path) -> Path:
    (scratch,) = folder.glob("shard-demo-*")
    return scratch


def test_yes_runs_the_quickstart_to_its_end_and_says_what_was_done(
    newcomer: Person, server: ScriptedServer
) -> None:
    newcomer.configure(model="openai:another")
    before = (NOTEBOOKS / "01_quickstart.ipynb").read_bytes()
    ended = newcomer.shard("demo", "--yes", *MODEL)
    assert (ended.code, ended.err) == (0, "")
    assert server.steps == []
    scratch = scratch_of(newcomer.root / "tmp")
    notebook = read_notebook(scratch / "01_quickstart.ipynb")
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in cells)
    count = len(cells)
    assert f"Done: {count} of {count} cells in " in ended.out
    assert "5 tool calls, 1 file changed: notes.md." in ended.out
    assert f" lab {scratch}/01_quickstart.ipynb" in ended.out
    assert "bash: y, e, n, ?> y  (--yes)\n" in ended.out
    assert f"  │ +{NOTE}" in ended.out
    assert "2026-02-17,Basel," in ended.out
    assert "\x1b" not in ended.out
    (written,) = scratch.rglob("notes.md")
    assert written.read_text(encoding="utf-8").rstrip("\n") == NOTE
    assert {path.name for path in (newcomer.root / "tmp").iterdir()} == {scratch.name}
    config = json.loads((newcomer.root / ".config/shard/config.json").read_text(encoding="utf-8"))
    assert config == {"model": "openai:another"}
    assert (NOTEBOOKS / "01_quickstart.ipynb").read_bytes() == before


def test_a_person_is_asked_in_the_terminal(newcomer: Person, server: ScriptedServer) -> None:
    command = [*SHARD, "demo", *MODEL]
    terminal = Terminal(command, cwd=newcomer.project, env=newcomer.environ)
    try:
        terminal.see(b"bash: y, e, n, ?> ")
        assert "  │ python3 check_report.py\r\n" in terminal.seen.decode()
        assert "you, before commands and changes" in terminal.seen.decode()
        terminal.type(b"n not now\n")
        # It only reads, so that no model but a small one is asked for it.
        terminal.see(b"Run  wc -l sales.csv")
        terminal.see(b"write: y, s, a, n, ?> ")
        terminal.type(b"y\n")
        assert terminal.end() == 0
    finally:
        terminal.close()
    shown = terminal.seen.decode()
    assert "not now" in shown
    assert "Done: " in shown
    assert "\x1b[1mQuickstart" in shown
    assert server.steps == []


def test_where_nobody_can_be_asked_it_does_not_begin(newcomer: Person) -> None:
    ended = newcomer.shard("demo", *MODEL)
    assert ended.code == 2
    assert ended.err.startswith("shard: The demo asks before it runs a command")
    assert "shard demo --yes" in ended.err
    assert list((newcomer.root / "tmp").iterdir()) == []


def test_a_model_that_lacks_its_key_is_refused_before_anything_is_made(newcomer: Person) -> None:
    del newcomer.environ["OPENAI_API_KEY"], newcomer.environ["OPENAI_BASE_URL"]
    ended = newcomer.shard("demo", "--yes", *MODEL)
    assert ended.code == 1
    assert ended.err.startswith("shard: openai:scripted: ")
    assert "OPENAI_API_KEY" in ended.err
    assert ended.err.count("\n") == 1
    assert list((newcomer.root / "tmp").iterdir()) == []


def test_a_model_that_fails_ends_the_demo_with_what_it_said(
    newcomer: Person, server: ScriptedServer
) -> None:
    server.steps = server.steps[:2]
    ended = newcomer.shard("demo", "--yes", *MODEL, "--folder", "here")
    assert ended.code == 1
    assert "Failed: " in ended.out
    assert "It stopped at a cell that failed: TurnFailed: " in ended.out
    assert scratch_of(newcomer.project / "here").is_dir(), "the folder is the one that was named"


def test_a_file_that_is_no_model_is_refused(newcomer: Person) -> None:
    ended = newcomer.shard("demo", "--yes", "--model", "./none.gguf")
    assert (ended.code, ended.out) == (1, "")
    assert "There is no file none.gguf" in ended.err


def test_two_models_cannot_be_named(newcomer: Person) -> None:
    ended = newcomer.shard("demo", "--small", *MODEL)
    assert ended.code == 2
    assert sys.executable not in ended.err


def test_without_an_engine_the_pip_line_is_told_and_nothing_is_fetched(newcomer: Person) -> None:
    newcomer.environ["PYTHONPATH"] = os.pathsep.join((str(ROOT), without_engines(newcomer.root)))
    ended = newcomer.shard("demo", "--yes")
    assert (ended.code, ended.out) == (1, "")
    assert "pip install 'shard-jupyter[local]'" in ended.err
    assert "shard demo --model openai:" in ended.err
    assert ended.err.count("\n") == 1
    assert not newcomer.state.exists()


@pytest.mark.parametrize(("options", "size"), [((), "491 MB"), (("--small",), "98 MB")])
def test_a_person_who_wants_no_download_is_told_how_to_go_on(
    options: tuple[str, ...], size: str, newcomer: Person
) -> None:
    newcomer.environ["SHARD_LLAMA_SERVER"] = str(engine_of_ones_own(newcomer.root))
    terminal = Terminal([*SHARD, "demo", *options], cwd=newcomer.project, env=newcomer.environ)
    try:
        terminal.see(b"Fetch it? [y/N] ")
        terminal.type(b"\n")
        assert terminal.end() == 1
    finally:
        terminal.close()
    shown = terminal.seen.decode()
    assert size in shown
    assert "Apache-2.0" in shown
    assert ("for chat, not for tools" in shown) == bool(options)
    assert "shard: Without a model there is no demo." in shown
    assert "shard demo --model openai:" in shown
    assert list((newcomer.root / "tmp").iterdir()) == []


def test_where_the_network_is_forbidden_no_model_is_fetched(newcomer: Person) -> None:
    newcomer.configure(network="local")
    newcomer.environ["SHARD_LLAMA_SERVER"] = str(engine_of_ones_own(newcomer.root))
    ended = newcomer.shard("demo", "--yes")
    assert ended.code == 1
    assert "network" in ended.err
    assert list((newcomer.root / "tmp").iterdir()) == []


def engine_of_ones_own(root: Path) -> Path:
    program = root / "llama-server"
    program.write_text("#!/bin/sh\necho 'version: 1'\n", encoding="utf-8")
    program.chmod(0o755)
    return program


def without_engines(root: Path) -> str:
    """Modules that hide the engines of this Python, if it has any."""
    hidden = root / "hidden"
    hidden.mkdir()
    blocker = "import sys\nfor name in ('xllamacpp', 'llama_cpp'):\n    sys.modules[name] = None\n"
    (hidden / "sitecustomize.py").write_text(blocker, encoding="utf-8")
    return str(hidden)
