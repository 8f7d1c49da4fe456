"""Asks the command line, as a child: what it looks at needs the engine, which no kernel loads."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from shard_jupyter.contracts.process_runner import ProcessOutcome, ProcessSpec
from shard_jupyter.core.processes import SystemProcessRunner
from shard_jupyter.errors import ShardError, UserError
from shard_jupyter.surfaces.magics.line.waiting import wait_for

LIMIT_SECONDS = 30.0
_MOST_BYTES = 4 << 20
_PACKAGE = Path(__file__).parents[3]
_BOOT = (
    "import sys; sys.path.insert(0, sys.argv[1]); import shard_jupyter; del sys.path[0]; "
    "from shard_jupyter.surfaces.cli.main import run_cli; sys.exit(run_cli(sys.argv[2:]))"
)
"""As `python -m shard_jupyter.surfaces.cli.main`, but the package is the one that is loaded here,
and no file beside the notebook can take a module's place."""


def ask_command_line(
    *words: str, codes: Sequence[int] = (0,), limit_seconds: float = LIMIT_SECONDS
) -> Any:  # noqa: ANN401 - any JSON value
    """Run `shard WORDS --json` in the folder and environment of this process; return its answer.

    An exit code that is not one of `codes` is a failure, as is no JSON.

    Raises:
        UserError: what the command says is wrong.
        ShardError: it did not start, or did not answer in time.
        KeyboardInterrupt: the person interrupts; the child is dead.
    """
    spec = ProcessSpec(
        argv=(sys.executable, "-P", "-c", _BOOT, str(_PACKAGE.parent), *words, "--json"),
        cwd=_here(),
        env=dict(os.environ),
        timeout_seconds=limit_seconds,
        head_bytes=_MOST_BYTES,
        merge_stderr=False,
    )
    name = f"shard {' '.join(words)}"
    outcome = wait_for(lambda: SystemProcessRunner().run(spec))
    if outcome.timed_out:
        raise ShardError(
            f"`{name}` did not answer within {limit_seconds:g} s.",
            code="timeout",
            next_step="Run it in a terminal to see where it waits.",
        )
    if outcome.exit_code not in codes:
        raise _read_failure(name, outcome)
    return _read_json(name, outcome)


def _here() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise UserError(
            "The current folder does not exist any more.", next_step="Go to one that does: %cd"
        ) from None


def _read_failure(name: str, outcome: ProcessOutcome) -> ShardError:
    told = outcome.stderr.head.decode("utf-8", "replace").strip()
    if told.startswith("shard: ") and "\n" not in told:
        return UserError(told.removeprefix("shard: "))
    last = told.rsplit("\n", 1)[-1]
    return ShardError(
        f"`{name}` failed with exit code {outcome.exit_code}: {last or 'it says nothing'}",
        code="command_failed",
        next_step="Run it in a terminal to see all that it says.",
    )


def _read_json(name: str, outcome: ProcessOutcome) -> Any:  # noqa: ANN401 - any JSON value
    try:
        return json.loads(outcome.output.head)
    except ValueError as error:
        raise ShardError(
            f"`{name}` did not answer in JSON: {error}.",
            code="command_failed",
            next_step="Look whether the shard-jupyter of the kernel is whole: pip check.",
        ) from None
