"""What the demo says, and how it counts what was done."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from inline_snapshot import snapshot

from shard_jupyter.capabilities.local_models.catalog.catalog_model import (
    DEFAULT_MODEL,
    SMALL_MODEL,
    CatalogModel,
)
from shard_jupyter.surfaces.cli.demo.demo_model import DemoModel
from shard_jupyter.surfaces.cli.demo.demo_words import tell_end, tell_plan
from shard_jupyter.surfaces.cli.demo.programs import Programs, find_programs
from shard_jupyter.surfaces.cli.demo.run_summary import RunSummary, sum_up
from shard_jupyter.surfaces.notebook_runs.run_outcome import RunOutcome
from shard_jupyter.surfaces.render_static.bundle import TRANSCRIPT_MIME

pytestmark = pytest.mark.proves("D12")
NOTEBOOK = Path("/tmp/shard-demo-1/01_quickstart.ipynb")
PROGRAMS = Programs("shard", "pip", "jupyter", has_lab=False)
DONE = RunOutcome("done", 12, 12, 41.2)


def local(known: CatalogModel) -> DemoModel:
    return DemoModel(known.model_id, known)


def end(model: DemoModel, outcome: RunOutcome = DONE, programs: Programs = PROGRAMS) -> str:
    return "\n".join(tell_end(outcome, RunSummary(5, ("notes.md",)), model, NOTEBOOK, programs))


def test_the_plan_says_what_is_used_and_who_is_asked() -> None:
    plan = "\n".join(tell_plan(local(DEFAULT_MODEL), NOTEBOOK, yes=False))
    assert plan == snapshot("""\
A short notebook runs now: an agent reads a file, runs commands, writes a file.
  model   local:gguf:qwen2.5-coder-0.5b
          Qwen2.5-Coder-0.5B-Instruct Q4_K_M, on this machine, no network
  folder  /tmp/shard-demo-1, made for this
  asks    you, before commands and changes: y allows it once, n denies it
""")
    assert "--yes allows" in "\n".join(tell_plan(DemoModel("openai:x"), NOTEBOOK, yes=True))


def test_the_small_model_is_announced_as_what_it_is() -> None:
    plan = "\n".join(tell_plan(local(SMALL_MODEL), NOTEBOOK, yes=True))
    assert "for chat, not for tools" in plan


def test_the_end_says_what_ran_where_it_is_and_what_comes_next() -> None:
    assert end(local(DEFAULT_MODEL)) == snapshot("""\
Done: 12 of 12 cells in 41 s, 5 tool calls, 1 file changed: notes.md.

Open the notebook, with all its outputs, in JupyterLab:
  pip install jupyterlab
  jupyter lab /tmp/shard-demo-1/01_quickstart.ipynb

What Qwen2.5-Coder-0.5B-Instruct Q4_K_M can do:
one plain step: read this, run that, write so. Measured: right in 43 of 50.
It asks before every call. It cannot plan, mend code, or sum up a text.

Next:
  shard demo --model openai:gpt-5     with OPENAI_API_KEY set
  shard models                        which models there are
  shard models rm qwen2.5-coder-0.5b  removes this model
  rm -r /tmp/shard-demo-1             removes the folder of this demo\
""")


def test_a_model_with_a_key_is_told_nothing_of_small_ones() -> None:
    assert end(DemoModel("openai:gpt-5"), programs=Programs("s", "p", "j", has_lab=True)) == (
        snapshot("""\
Done: 12 of 12 cells in 41 s, 5 tool calls, 1 file changed: notes.md.

Open the notebook, with all its outputs, in JupyterLab:
  j lab /tmp/shard-demo-1/01_quickstart.ipynb

Next:
  s models                 which models there are
  rm -r /tmp/shard-demo-1  removes the folder of this demo\
""")
    )


def test_the_small_model_is_said_to_be_for_chat_only() -> None:
    said = end(local(SMALL_MODEL))
    assert "is for chat and for trying things out, not for tools" in said
    assert "Measured" not in said


def test_denied_calls_are_counted() -> None:
    said = "\n".join(tell_end(DONE, RunSummary(5, (), 1), local(DEFAULT_MODEL), NOTEBOOK, PROGRAMS))
    assert "5 tool calls (1 denied), 0 files changed." in said


@pytest.mark.parametrize("yes", [True, False])
@pytest.mark.parametrize("known", [DEFAULT_MODEL, SMALL_MODEL])
def test_all_of_it_fits_a_terminal(known: CatalogModel, yes: bool) -> None:
    programs = Programs(".venv/bin/shard", ".venv/bin/pip", ".venv/bin/jupyter", has_lab=False)
    notebook = Path("/tmp/shard-demo-go0tfqr9/01_quickstart.ipynb")
    plan = list(tell_plan(local(known), notebook, yes=yes))
    said = list(tell_end(DONE, RunSummary(5, ("notes.md",)), local(known), notebook, programs))
    assert [line for line in plan + said if len(line) > 80] == []


def test_a_failed_and_an_interrupted_run_say_so() -> None:
    failed = RunOutcome("failed", 4, 12, 3.0, "ValueError: no")
    assert "Failed: 4 of 12 cells in 3 s" in end(DemoModel("x"), failed)
    assert "a cell that failed: ValueError: no" in end(DemoModel("x"), failed)
    stopped = end(DemoModel("x"), RunOutcome("interrupted", 1, 12, 1.0, "TurnFailed: Stopped."))
    assert "Interrupted: 1 of 12" in stopped
    assert "failed" not in stopped


def test_calls_and_files_are_those_of_all_records() -> None:
    record = {
        "items": [{"kind": "prose"}, {"kind": "step", "state": "ok"}, {"kind": "step"}],
        "changed_files": [{"path": "a"}, {"path": "b"}],
    }
    more = {"items": [{"kind": "step", "state": "denied"}], "changed_files": [{"path": "a"}]}
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [nbformat.v4.new_markdown_cell("x")]
    for data in ({TRANSCRIPT_MIME: record}, {"text/plain": "y"}, {TRANSCRIPT_MIME: more}):
        output = nbformat.v4.new_output("display_data", data)
        notebook.cells.append(nbformat.v4.new_code_cell("x", outputs=[output]))
    stream = nbformat.v4.new_output("stream", text="z")
    notebook.cells.append(nbformat.v4.new_code_cell("x", outputs=[stream]))
    assert sum_up(notebook) == RunSummary(3, ("a", "b"), 1)


def test_programs_are_named_as_they_can_be_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / ".venv/bin"
    programs.mkdir(parents=True)
    for name in ("python", "shard", "pip"):
        (programs / name).touch(mode=0o755)
    monkeypatch.setattr("sys.executable", str(programs / "python"))
    elsewhere = find_programs({"PATH": "/usr/bin"}, tmp_path)
    assert (elsewhere.shard, elsewhere.pip, elsewhere.jupyter) == (
        ".venv/bin/shard",
        ".venv/bin/pip",
        "jupyter",
    )
    assert find_programs({"PATH": "/usr/bin"}, tmp_path / "other").shard == str(programs / "shard")
    assert find_programs({"PATH": f"{programs}:/usr/bin"}, tmp_path).shard == "shard"
