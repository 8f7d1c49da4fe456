"""Makes the cassette of notebooks/02_replay.ipynb, and the outputs that are stored with it.

The tools really run, the model's answers are scripted. The prompts are those of the notebook; its
Python cells run too, because prompts name variables.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nbformat

from shard_jupyter import ApprovalAnswer, SyncShard
from shard_jupyter.surfaces.magics.cell_request import read_cell_request
from shard_jupyter.testing.scripted_provider import ScriptedProvider, Step
from shard_jupyter.types.events import PermissionRequest
from tests.notebook_scripts import NOTEBOOKS, REPLAY

REPLAYED = NOTEBOOKS / "02_replay.ipynb"


def answer(request: PermissionRequest) -> ApprovalAnswer:
    """Allow everything: the command always, by the first rule that is offered, changes once."""
    if request.tool == "bash" and request.offered_rules:
        return ApprovalAnswer(decision="allow_always", rule=request.offered_rules[0])
    return ApprovalAnswer(decision="allow")


def make_cassette() -> str:
    """Let the agent cells of the notebook run once and return what was recorded."""
    steps: list[Step] = [step for cell in REPLAY for step in cell]
    with tempfile.TemporaryDirectory() as folder, _project(Path(folder)) as project:
        cassette = Path(folder) / "cassette.jsonl"
        environ = {
            "PATH": os.environ["PATH"],
            "HOME": folder,
            "SHARD_HOME": f"{folder}/state",
            "SHARD_SANDBOX": "off",
        }
        with SyncShard(
            cwd=project,
            provider=ScriptedProvider(steps),
            record=cassette,
            on_approval=answer,
            environ=environ,
        ) as agent:
            namespace: dict[str, Any] = {}
            for source in _code_cells(REPLAYED):
                if source.startswith("%%shard"):
                    _ask(agent, source, namespace)
                elif "copytree" not in source and not source.startswith("%"):
                    exec(source, namespace)
        return cassette.read_bytes().decode("utf-8")


@contextmanager
def _project(folder: Path) -> Iterator[Path]:
    """Stand in a copy of the notebook's project, as its first cell does."""
    project = folder / "sales"
    shutil.copytree(NOTEBOOKS / "sales", project, ignore=shutil.ignore_patterns("__pycache__"))
    before = Path.cwd()
    os.chdir(project)
    sys.path.insert(0, str(project))
    try:
        yield project
    finally:
        sys.path.remove(str(project))
        sys.modules.pop("report", None)
        os.chdir(before)


def _code_cells(path: Path) -> list[str]:
    notebook = nbformat.read(path, as_version=4)
    return [cell.source for cell in notebook.cells if cell.cell_type == "code"]


def _ask(agent: SyncShard, source: str, namespace: dict[str, Any]) -> None:
    first, _, body = source.partition("\n")
    line = first.removeprefix("%%shard").strip()
    request = read_cell_request(line, body, namespace, folder=str(NOTEBOOKS))
    assert request is not None
    instructions = request.schema.instructions() if request.schema else ""
    result = agent.prompt(request.prompt.text + instructions)
    if request.options.out:
        read = request.schema.read if request.schema else str
        namespace[request.options.out] = read(result.text)


def store_outputs() -> None:
    """Run the notebook from its cassette and keep what it shows."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        own = {
            "HOME": folder,
            "SHARD_HOME": str(home / "state"),
            "XDG_CONFIG_HOME": str(home / "config"),
            "SHARD_SANDBOX": "off",
            "PYTHONPATH": str(NOTEBOOKS.parent),
        }
        command = [sys.executable, "-m", "jupyter", "execute", "--inplace", str(REPLAYED)]
        subprocess.run(command, env={**os.environ, **own}, check=True)
    notebook = nbformat.read(REPLAYED, as_version=4)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # when it was
    notebook.metadata["language_info"] = {"name": "python"}
    nbformat.write(notebook, REPLAYED)
