"""The quickstart notebook, cell by cell, in a real kernel, with a person who answers."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

from tests.fakes.scripted_server import scripted_server
from tests.jupyter.kernel import CellRun, Kernel, open_kernel
from tests.notebook_scripts import NOTE, NOTEBOOKS, QUICKSTART

pytestmark = [pytest.mark.proves("D12", "D02", "J3.1"), pytest.mark.timeout(120)]


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[Kernel]:
    shutil.copytree(NOTEBOOKS, tmp_path / "work")
    steps = [step for cell in QUICKSTART for step in cell]
    with scripted_server(steps) as server:
        own = {
            "OPENAI_API_KEY": "k",
            "OPENAI_BASE_URL": server.url,
            "SHARD_MODEL": "openai:scripted",
        }
        with open_kernel(tmp_path, environ=own) as kernel:
            yield kernel
        assert server.steps == []


def run_cells(kernel: Kernel) -> list[tuple[str, CellRun]]:
    cells = []
    for cell in nbformat.read(NOTEBOOKS / "01_quickstart.ipynb", as_version=4).cells:
        if cell.cell_type == "code":
            run = kernel.execute(
                cell.source,
                allow_stdin=True,
                on_stdin=lambda prompt, password: "y",
                metadata={"cellId": cell.id},
            )
            assert run.status == "ok", (cell.source, run.error)
            cells.append((cell.source, run))
    return cells


def shown(run: CellRun) -> str:
    """What the notebook shows at the end of the cell."""
    return str(run.outputs[-1]["content"]["data"]["text/plain"])


def test_it_runs_from_top_to_bottom_and_shows_what_it_says(kernel: Kernel) -> None:
    cells = run_cells(kernel)
    agents = [run for source, run in cells if source.startswith("%%shard")]
    read, checked, counted, written, asked, restored = agents
    assert read.asked == [], "reading inside the folder is asked of nobody"
    assert "2026-02-17,Basel," in shown(read)
    assert len(checked.asked) == 1
    command = "python3 check_report.py"
    assert command in "".join(map(str, (m["content"] for m in checked.messages))), "all is shown"
    assert "exit 1" in shown(checked)
    assert "9 sales.csv" in shown(counted)
    assert len(written.asked) == 1
    assert f"+{NOTE}" in shown(written)
    assert asked.asked == []
    assert NOTE in shown(restored)
    results = [run.result for source, run in cells if run.result is not None]
    assert "9\n" in [run.stream() for source, run in cells if source == "print(lines)"]
    assert any("'notes.md'" in result for result in results)
    assert results[-1].count("Done") >= len(agents), "the restored conversation has all its turns"
