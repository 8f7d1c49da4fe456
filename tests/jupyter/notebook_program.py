"""Runs a notebook as a command line does: python -m tests.jupyter.notebook_program PATH WHO.

WHO is nobody, yes or person. Ends with 0, 1, or 130 when it was interrupted.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import anyio

from shard_jupyter.surfaces.cli.notebook_answers import AlwaysYes, TerminalPerson
from shard_jupyter.surfaces.notebook_runs.answers import Answers, Nobody
from shard_jupyter.surfaces.notebook_runs.run_notebook import run_notebook
from shard_jupyter.surfaces.notebook_runs.run_outcome import RunOutcome
from shard_jupyter.surfaces.notebook_runs.run_view import TextView
from tests.terminal_signals import obey_signals

CODES = {"done": 0, "failed": 1, "interrupted": 130}


def main(path: Path, who: str) -> int:
    answers: dict[str, Answers] = {
        "nobody": Nobody(),
        "yes": AlwaysYes(lambda line: print(line, flush=True), "yes"),
        "person": TerminalPerson(),
    }
    view = TextView(sys.stdout, lambda line, _: line, shows_state=False)

    async def run() -> RunOutcome:
        return await run_notebook(path, environ=os.environ, answers=answers[who], view=view)

    outcome = anyio.run(run)
    print(f"{outcome.state}: {outcome.cells_run} of {outcome.cells}. {outcome.failure}")
    return CODES[outcome.state]


if __name__ == "__main__":
    obey_signals()
    sys.exit(main(Path(sys.argv[1]), sys.argv[2]))
