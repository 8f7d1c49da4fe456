"""What the demo tells a person before and after the notebook. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from shard_jupyter.capabilities.local_models.catalog.catalog_model import CatalogModel
from shard_jupyter.surfaces.cli.demo.demo_model import DemoModel
from shard_jupyter.surfaces.cli.demo.programs import Programs
from shard_jupyter.surfaces.cli.demo.run_summary import RunSummary
from shard_jupyter.surfaces.notebook_runs.run_outcome import RunOutcome

FIGURES = "Measured: right in 43 of 50."


def tell_plan(model: DemoModel, notebook: Path, *, yes: bool) -> Iterator[str]:
    yield "A short notebook runs now: an agent reads a file, runs commands, writes a file."
    if model.known is not None and not model.known.calls_tools:
        yield "This model is for chat, not for tools: it only answers, and is often wrong."
    yield f"  model   {model.model_id}"
    if model.known is not None:
        yield f"          {model.known.title}, on this machine, no network"
    yield f"  folder  {notebook.parent}, made for this"
    if yes:
        yield "  asks    nobody: --yes allows every command and change once"
    else:
        yield "  asks    you, before commands and changes: y allows it once, n denies it"
    yield ""


def tell_end(
    outcome: RunOutcome, summary: RunSummary, model: DemoModel, notebook: Path, programs: Programs
) -> Iterator[str]:
    yield _count(outcome, summary)
    if outcome.failure and outcome.state == "failed":
        yield f"It stopped at a cell that failed: {outcome.failure}"
    yield ""
    yield "Open the notebook, with all its outputs, in JupyterLab:"
    if not programs.has_lab:
        yield f"  {programs.pip} install jupyterlab"
    yield f"  {programs.jupyter} lab {shlex.quote(str(notebook))}"
    if model.known is not None:
        yield ""
        yield from _tell_abilities(model.known, programs)
    yield ""
    yield "Next:"
    yield from _tell_next(model, notebook, programs)


def _count(outcome: RunOutcome, summary: RunSummary) -> str:
    ends = {"done": "Done", "failed": "Failed", "interrupted": "Interrupted"}
    files = f": {', '.join(summary.files)}" if summary.files else ""
    denied = f" ({summary.denied} denied)" if summary.denied else ""
    return (
        f"{ends[outcome.state]}: {outcome.cells_run} of {outcome.cells} cells in "
        f"{outcome.seconds:.0f} s, {_number(summary.tool_calls, 'tool call')}{denied}, "
        f"{_number(len(summary.files), 'file')} changed{files}."
    )


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _tell_abilities(known: CatalogModel, programs: Programs) -> Iterator[str]:
    if not known.calls_tools:
        yield f"{known.title} is for chat and for trying things out, not for tools:"
        yield "it seldom chooses the right one. The larger local model does:"
        yield f"  {programs.shard} demo"
        return
    yield f"What {known.title} can do:"
    yield f"one plain step: read this, run that, write so. {FIGURES}"
    yield "It asks before every call. It cannot plan, mend code, or sum up a text."


def _tell_next(model: DemoModel, notebook: Path, programs: Programs) -> Iterator[str]:
    rows = [
        (f"{programs.shard} models", "which models there are"),
        (
            f"rm -r {shlex.quote(str(notebook.parent))}",
            "removes the folder of this demo",
        ),
    ]
    if model.known is not None:
        rows.insert(0, (f"{programs.shard} demo --model openai:gpt-5", "with OPENAI_API_KEY set"))
        rows.insert(2, (f"{programs.shard} models rm {model.known.name}", "removes this model"))
    width = max(len(command) for command, _ in rows)
    for command, what in rows:
        yield f"  {command.ljust(width)}  {what}"
