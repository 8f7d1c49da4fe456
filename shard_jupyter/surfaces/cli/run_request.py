"""What one `shard run` was asked for, checked before anything starts."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from shard_jupyter.core.limits.budget import Budget, parse_budget
from shard_jupyter.errors import UsageError
from shard_jupyter.types.decisions import AskSetting

MAX_PROMPT_BYTES = 4 << 20


@dataclass(frozen=True)
class RunRequest:
    """Checked options. `session` is the id to go on with, None for a new one.

    `ask` None: whoever fits: the cassette that is played, the person at the terminal, or what
    `headless_policy` in the configuration says.
    """

    prompt: str
    cwd: Path
    ask: AskSetting | None
    on_terminal: bool = False
    model: str | None = None
    mode: str | None = None
    as_json: bool = False
    timeout_seconds: float | None = None
    budget: Budget | None = None
    record: Path | None = None
    session: str | None = None
    trust_project: bool = False
    sandbox: str | None = None


def read_request(
    arguments: argparse.Namespace,
    stdin: BinaryIO,
    *,
    on_terminal: bool,
    find_last_session: Callable[[Path], str | None],
) -> RunRequest:
    """Check everything that can be checked without the engine.

    Raises:
        UsageError: says which argument is wrong.
    """
    cwd = _read_folder(arguments.cwd)
    return RunRequest(
        prompt=read_prompt(arguments.prompt, stdin),
        cwd=cwd,
        ask=arguments.ask,
        on_terminal=on_terminal,
        model=arguments.model,
        mode=arguments.mode,
        as_json=arguments.json,
        timeout_seconds=arguments.timeout,
        budget=parse_budget(arguments.budget) if arguments.budget else None,
        record=Path(arguments.record).absolute() if arguments.record else None,
        session=_choose_session(arguments, cwd, find_last_session),
        trust_project=arguments.trust_project,
        sandbox=arguments.sandbox,
    )


def read_prompt(argument: str, stdin: BinaryIO) -> str:
    """Take the prompt, or read all of stdin for `-`; kept as it is to the last line end.

    Raises:
        UsageError: it is empty, not UTF-8 or too long.
    """
    try:
        # The bytes of an argument are text in UTF-8 whatever the locale has made of them.
        text = _read_stdin(stdin) if argument == "-" else os.fsencode(argument).decode("utf-8")
    except UnicodeError as error:
        place = error.start if isinstance(error, UnicodeDecodeError | UnicodeEncodeError) else 0
        raise UsageError(
            f"The prompt is not UTF-8 at position {place}.", next_step="Convert it to UTF-8."
        ) from None
    if not text.strip():
        raise UsageError("The prompt is empty.", next_step="Say what is to be done.")
    return text


def _read_stdin(stdin: BinaryIO) -> str:
    data = stdin.read(MAX_PROMPT_BYTES + 1)
    if len(data) > MAX_PROMPT_BYTES:
        raise UsageError("The prompt is longer than 4 MiB.", next_step="Name a file in it instead.")
    return data.decode("utf-8")


def _read_folder(argument: str | None) -> Path:
    folder = Path(argument or ".").absolute()
    if not folder.is_dir():
        raise UsageError(f"{argument} is no folder.", next_step="Give --cwd a folder that exists.")
    return folder.resolve()


def _choose_session(
    arguments: argparse.Namespace, cwd: Path, find_last_session: Callable[[Path], str | None]
) -> str | None:
    if not arguments.continue_last:
        session: str | None = arguments.session
        return session
    last = find_last_session(cwd)
    if last is None:
        raise UsageError(
            f"No session of {cwd} is stored.", next_step='"shard sessions" lists those there are.'
        )
    return last
