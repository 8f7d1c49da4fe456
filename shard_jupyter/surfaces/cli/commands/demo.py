"""`shard demo`: see an agent at work in a notebook, with a model of this machine or another."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import anyio

from shard_jupyter.capabilities.local_models.catalog.catalog_model import CatalogModel
from shard_jupyter.capabilities.local_models.catalog.pull_plan import plan_pull
from shard_jupyter.capabilities.local_models.found.find_models import resolve_model
from shard_jupyter.core.config.load_settings import load_settings
from shard_jupyter.core.config.settings import Settings
from shard_jupyter.errors import UsageError, UserError
from shard_jupyter.surfaces.cli.commands.models_pull import fetch, gather_sources
from shard_jupyter.surfaces.cli.demo.demo_model import (
    DemoModel,
    LocalShelf,
    Wish,
    choose_model,
)
from shard_jupyter.surfaces.cli.demo.demo_words import tell_end, tell_plan
from shard_jupyter.surfaces.cli.demo.programs import find_programs
from shard_jupyter.surfaces.cli.demo.run_summary import sum_up
from shard_jupyter.surfaces.cli.demo.scratch_project import make_scratch
from shard_jupyter.surfaces.cli.exit_codes import DONE, FAILED, INTERRUPTED
from shard_jupyter.surfaces.cli.fetching.yes_or_no import ask_yes
from shard_jupyter.surfaces.cli.model_rows import describe_model, open_router
from shard_jupyter.surfaces.cli.notebook_answers import AlwaysYes, TerminalPerson
from shard_jupyter.surfaces.cli.output import write_lines
from shard_jupyter.surfaces.conversation.palette import (
    Palette,
    can_rewrite,
    choose_palette,
)
from shard_jupyter.surfaces.notebook_runs.answers import Answers
from shard_jupyter.surfaces.notebook_runs.notebook_file import read_notebook
from shard_jupyter.surfaces.notebook_runs.run_notebook import run_notebook
from shard_jupyter.surfaces.notebook_runs.run_outcome import RunOutcome, RunState
from shard_jupyter.surfaces.notebook_runs.run_view import Paint, Part, TextView
from shard_jupyter.surfaces.render_static.visible_text import make_visible_line
from shard_jupyter.surfaces.sdk.local_places import find_engine_refusal, find_model_places
from shard_jupyter.types.refusals import Refusal

_CODES: dict[RunState, int] = {"done": DONE, "failed": FAILED, "interrupted": INTERRUPTED}


def run_command(arguments: argparse.Namespace) -> int:
    settings = load_settings(os.environ, Path.cwd()).settings
    return run_demo(arguments, settings, ThisMachine(settings, os.environ), os.environ)


def run_demo(
    arguments: argparse.Namespace,
    settings: Settings,
    shelf: LocalShelf,
    environ: Mapping[str, str],
) -> int:
    """Do all of it; `shelf` has the models of this machine."""
    if not arguments.yes and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "The demo asks before it runs a command, and nobody can be asked here.",
            next_step="Let it answer its questions itself: shard demo --yes",
        )
    wish = Wish(arguments.model, small=arguments.small, yes=arguments.yes)
    model = choose_model(wish, shelf, _write_line)
    check_model(model, settings, environ)
    folder = None if arguments.folder is None else Path(arguments.folder).expanduser()
    notebook = make_scratch(folder)
    write_lines(tell_plan(model, notebook, yes=arguments.yes))
    sys.stdout.flush()
    outcome = _run(notebook, model, environ, yes=arguments.yes)
    summary = sum_up(read_notebook(notebook))
    programs = find_programs(environ, Path.cwd())
    write_lines(tell_end(outcome, summary, model, notebook, programs))
    return _CODES[outcome.state]


def check_model(model: DemoModel, settings: Settings, environ: Mapping[str, str]) -> None:
    """Look whether it can be asked, before a notebook fails for it.

    Raises:
        UserError: something is missing; says what.
    """
    router, _ = anyio.run(open_router, settings, environ)
    refusal = describe_model(model.model_id, settings, router.describe).refusal
    if refusal is not None:
        raise UserError(
            f"{model.model_id}: {refusal.message}", code=refusal.kind, next_step=refusal.satisfy
        )


def _run(notebook: Path, model: DemoModel, environ: Mapping[str, str], *, yes: bool) -> RunOutcome:
    palette = choose_palette(sys.stdout, environ)
    view = TextView(sys.stdout, _painter(palette), shows_state=can_rewrite(sys.stdout, environ))
    answers: Answers = AlwaysYes(_write_line, "--yes") if yes else TerminalPerson()
    # What the notebook copies for itself goes into the scratch folder too, and so does what IPython
    # keeps: its history is none of the person's, and no start-up file of theirs is part of this.
    own = {
        **environ,
        "SHARD_MODEL": model.model_id,
        "TMPDIR": str(notebook.parent),
        "IPYTHONDIR": str(notebook.parent / ".ipython"),
    }

    async def run() -> RunOutcome:
        return await run_notebook(notebook, environ=own, answers=answers, view=view)

    return anyio.run(run)


def _painter(palette: Palette) -> Paint:
    def paint(line: str, part: Part) -> str:
        match part:
            case "heading":
                return palette.paint(line, "bold")
            case "prose":
                return palette.paint(line, "dim")
            case "source":
                return palette.paint(line, "cyan")
            case "error":
                return palette.paint(line, "red")
            case _:
                return line

    return paint


def _write_line(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


@dataclass(frozen=True)
class ThisMachine:
    """The `LocalShelf` of this machine, as settings and environment describe it."""

    settings: Settings
    environ: Mapping[str, str]

    def find_engine_problem(self) -> Refusal | None:
        return find_engine_refusal(self.settings, self.environ)

    def has(self, model: CatalogModel) -> bool:
        return resolve_model(model.name, find_model_places(self.settings, self.environ)) is not None

    def fetch(self, model: CatalogModel, *, yes: bool) -> bool:
        places = find_model_places(self.settings, self.environ)
        sources = gather_sources(self.settings, places, self.environ)
        plan = plan_pull(model, places, sources)
        if plan.action == "present":
            return True
        sys.stderr.writelines(f"{make_visible_line(line)}\n" for line in plan.tell())
        sys.stderr.flush()
        if not yes and not ask_yes("Fetch it?"):
            return False
        fetch(plan, places, sources)
        return True
