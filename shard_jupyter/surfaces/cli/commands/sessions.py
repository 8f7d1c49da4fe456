"""`shard sessions`: the stored sessions, the last used first."""

from __future__ import annotations

import argparse
import os

import anyio

from shard_jupyter.core.config.config_files import find_state_home
from shard_jupyter.store.session_index import list_sessions
from shard_jupyter.store.session_summary import SessionSummary
from shard_jupyter.surfaces.cli.exit_codes import DONE
from shard_jupyter.surfaces.cli.output import align_columns, write_json, write_lines

_PROMPT_CHARACTERS = 60


def run_command(arguments: argparse.Namespace) -> int:
    summaries = anyio.run(list_sessions, find_state_home(os.environ) / "sessions")
    if arguments.json:
        write_json([summary.model_dump(mode="json") for summary in summaries])
    elif summaries:
        head = ("session", "last used", "messages", "folder", "first prompt")
        write_lines(align_columns([head, *map(_cells, summaries)]))
    return DONE


def _cells(summary: SessionSummary) -> tuple[str, ...]:
    count = "?" if summary.message_count is None else str(summary.message_count)
    prompt = summary.note or summary.first_prompt
    short = f"{prompt[:_PROMPT_CHARACTERS]}…" if len(prompt) > _PROMPT_CHARACTERS else prompt
    last = summary.last_activity[:16].replace("T", " ")
    return summary.session_id, last, count, summary.cwd, short
