"""The demo with the default model and a real engine: what the README shows is what happens."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.child_watch import assert_no_new_child, children
from tests.jupyter.headless import read_notebook
from tests.local_models import find_default_model
from tests.scenarios.command_line import Ended, Person
from tests.scenarios.test_documents import GAP, blocks_of

pytestmark = [
    pytest.mark.local_model,
    pytest.mark.default_model,
    pytest.mark.proves("D12", "A13", "C10"),
    pytest.mark.timeout(600),
]


def run_demo(person: Person, *options: str) -> Ended:
    before = children()
    with person.started("demo", "--yes", *options) as child:
        out, err = child.communicate(timeout=580)
    assert_no_new_child(before)
    return Ended(child.returncode, out.decode(), err.decode())


def test_the_default_model_carries_out_the_requests_of_the_quickstart(tmp_path: Path) -> None:
    model = str(find_default_model())
    person = Person(tmp_path, "http://127.0.0.1:1")
    del person.environ["PYTHONWARNINGS"]
    person.environ["PYTHONPATH"] = os.pathsep.join(
        part for part in (person.environ["PYTHONPATH"], os.environ.get("PYTHONPATH", "")) if part
    )
    ended = run_demo(person, "--model", model, "--folder", str(tmp_path))
    assert ended.code == 0, ended
    (scratch,) = tmp_path.glob("shard-demo-*")
    (notes,) = scratch.rglob("notes.md")
    assert notes.read_text(encoding="utf-8") == "February has no amount"
    notebook = read_notebook(scratch / "01_quickstart.ipynb")
    assert all(cell.execution_count for cell in notebook.cells if cell.cell_type == "code")
    seen = comparable(ended.out)
    for line in comparable(shown_in_readme()).split("\n"):
        assert line in (GAP, "") or line in seen.split("\n"), line


def shown_in_readme() -> str:
    shown = [block.text for block in blocks_of("README.md") if block.kind == "console"]
    return shown[1].partition("\n")[2]


def comparable(text: str) -> str:
    """Leave out times and which file of the model it is."""
    text = re.sub(r"<?\d+\.\d s\b|\b\d+ s\b", "T s", text)
    return re.sub(r"local:gguf:\S+", "MODEL", text)
