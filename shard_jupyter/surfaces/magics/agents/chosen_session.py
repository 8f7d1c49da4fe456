"""Where an agent works, and which stored session it goes on with."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import anyio

from shard_jupyter.core.config.config_files import find_state_home
from shard_jupyter.errors import UsageError
from shard_jupyter.store.session_index import list_sessions


def find_working_folder() -> str:
    try:
        return os.getcwd()  # noqa: PTH109 - the text goes on the wire
    except FileNotFoundError:
        raise UsageError(
            "The working folder of this kernel does not exist any more.",
            next_step="Change to one that does: %cd PATH.",
        ) from None


def find_session(asked: str | None, cwd: str, environ: Mapping[str, str]) -> str | None:
    """Take a session id as it is; `last` is the newest session of the folder.

    Raises:
        UsageError: the folder has none.
    """
    if asked != "last":
        return asked
    summaries = anyio.run(list_sessions, find_state_home(environ) / "sessions")
    folder = str(Path(cwd).resolve())
    for summary in summaries:
        if summary.cwd == folder:
            return summary.session_id
    raise UsageError(
        "No session of this folder is stored.",
        next_step="Leave --session out to start one; %shard history --sessions lists those there are.",
    )
