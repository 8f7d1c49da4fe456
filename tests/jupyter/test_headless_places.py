"""Headless runs where something is missing: a key, a folder for the state, the network."""

from __future__ import annotations

import json
from pathlib import Path

import nbformat
import pytest
from nbclient.exceptions import CellExecutionError

from tests.fakes.model_server import MockModel, mock_model, model_server
from tests.jupyter.headless import LOAD, Scratch, bundles, notebook, open_client, shard

__all__ = ["mock_model", "model_server"]
pytestmark = [pytest.mark.proves("D09"), pytest.mark.timeout(120)]

WATCH = """\
import os, sys

def watch(event, args):
    if event == "socket.connect" and isinstance(args[1], tuple):
        note(args[1][0])
    elif event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"):
        note(args[-1] if event == "socket.sendto" else args[0])

def note(address):
    with open(os.environ["ADDRESSES"], "a") as file:
        file.write(f"{address}\\n")

sys.addaudithook(watch)
"""
HERE = {"127.0.0.1", "localhost", "::1", "None"}


def fail(scratch: Scratch, *cells: str) -> str:
    """Run cells of which the last one has to fail; returns what it says."""
    made = notebook(LOAD, *cells)
    with open_client(scratch, made) as client:
        for at, cell in enumerate(made.cells[:-1]):
            client.execute_cell(cell, at)
        with pytest.raises(CellExecutionError):
            client.execute_cell(made.cells[-1], len(made.cells) - 1)
    (error,) = made.cells[-1].outputs
    (line,) = error.traceback
    assert "\n" not in line
    return str(error.evalue)


def test_without_a_key_the_cell_names_its_variable_and_another_way(tmp_path: Path) -> None:
    told = fail(Scratch(tmp_path), shard("Go.", model="openai:gpt"))
    assert "Set OPENAI_API_KEY." in told
    assert "choose another model" in told
    assert "one on this machine needs no key" in told


def test_without_a_model_the_cell_says_how_to_name_one(tmp_path: Path) -> None:
    told = fail(Scratch(tmp_path), "%%shard\nGo.")
    assert "--model" in told
    assert "shard config set model" in told
    assert "`shard models pull`" in told


@pytest.mark.slow
@pytest.mark.parametrize("home", ["/proc/none", "/etc/passwd/x", "relative/path"])
def test_a_state_folder_that_cannot_be_used_is_told(
    tmp_path: Path, model_server: MockModel, home: str
) -> None:
    told = fail(Scratch(tmp_path, model_server.url, SHARD_HOME=home), shard("Go."))
    assert home in told
    assert "SHARD_HOME" in told


@pytest.mark.slow
@pytest.mark.parametrize(("option", "told"), [("", "network is 'local'"), ("x", "no option")])
def test_a_model_out_there_is_refused_where_only_this_machine_counts(
    tmp_path: Path, option: str, told: str
) -> None:
    scratch = Scratch(tmp_path, SHARD_NETWORK="local", OPENAI_API_KEY="sk-test")
    options = [f"--{option}"] if option else []
    assert told in fail(scratch, shard("Go.", *options, model="openai:gpt"))


def test_loading_twice_keeps_the_agent_and_its_conversation(
    tmp_path: Path, mock_model: MockModel
) -> None:
    made = notebook(
        *(LOAD, LOAD, shard("My name is Ada."), LOAD, shard("Who am I?")),
        *("%reload_ext shard_jupyter", shard("Go on.")),
    )
    with open_client(Scratch(tmp_path, mock_model.url), made) as client:
        for at, cell in enumerate(made.cells):
            client.execute_cell(cell, at)
    assert len(bundles(made)) == 3
    _, second, _ = map(json.dumps, mock_model.ask("/__bodies"))
    assert "My name is Ada." in second


@pytest.mark.slow
def test_papermill_gives_parameters_to_a_prompt(tmp_path: Path, mock_model: MockModel) -> None:
    scratch = Scratch(tmp_path, mock_model.url)
    path = scratch.write("person = 'nobody'", shard("Greet @person.", "--ask yes", "--out said"))
    made = nbformat.read(path, as_version=4)
    made.cells[1].metadata["tags"] = ["parameters"]
    made.cells.append(nbformat.v4.new_code_cell("print(len(said) > 0)"))
    nbformat.write(made, path)
    scratch.papermill(path, "out.ipynb", "-p", "person", "Ada Lovelace").check()
    assert "Ada Lovelace" in json.dumps(mock_model.ask("/__bodies")[-1])
    done = scratch.read("out.ipynb")
    assert len(bundles(done)) == 1
    assert done.cells[-1].outputs[0].text == "True\n"


@pytest.mark.slow
def test_nothing_but_the_model_is_asked_for_on_the_network(
    tmp_path: Path, model_server: MockModel
) -> None:
    """Every process of the run tells where it connects, and which names it looks up."""
    hook = tmp_path / "hook"
    hook.mkdir()
    (hook / "sitecustomize.py").write_text(WATCH, encoding="utf-8")
    scratch = Scratch(tmp_path, model_server.url, ADDRESSES=str(tmp_path / "addresses"))
    scratch.environ["PYTHONPATH"] = f"{hook}:{scratch.environ['PYTHONPATH']}"
    path = scratch.write(shard("Go. @@shell echo hi", "--ask yes"), "%shard status")
    scratch.execute(path).check()
    asked = set((tmp_path / "addresses").read_text(encoding="utf-8").split("\n")) - {""}
    assert asked & {"127.0.0.1", "localhost"}
    assert asked <= HERE
