"""`shard models`: what there is to choose from, what each still needs, and how it comes here."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from shard_jupyter.core.config.load_settings import load_settings
from shard_jupyter.surfaces.cli.exit_codes import DONE
from shard_jupyter.surfaces.cli.output import align_columns, find_width, write_json, write_lines
from shard_jupyter.surfaces.render_static.words.numbers import show_bytes
from shard_jupyter.types.model_rows import ModelRow

_PULL = "shard models pull"
_HEAD = ("", "model", "where", "size", "state")


def run_command(arguments: argparse.Namespace) -> int:
    # Each action loads only what it needs, as `main` does for the commands.
    if arguments.action == "pull":
        from shard_jupyter.surfaces.cli.commands.models_pull import pull_named  # noqa: PLC0415

        return pull_named(arguments)
    if arguments.action == "rm":
        from shard_jupyter.surfaces.cli.commands.models_rm import remove_named  # noqa: PLC0415

        return remove_named(arguments)
    return _list(as_json=arguments.json)


def _list(*, as_json: bool) -> int:
    from shard_jupyter.surfaces.cli.model_rows import collect_rows  # noqa: PLC0415 - see above

    rows = collect_rows(load_settings(os.environ, Path.cwd()).settings, os.environ)
    if as_json:
        write_json([row.model_dump(mode="json") for row in rows])
    else:
        write_lines(align_columns([_HEAD, *map(_cells, rows)], find_width()))
    return DONE


def _cells(row: ModelRow) -> tuple[str, str, str, str, str]:
    mark = "*" if row.is_default else ""
    size = "" if row.size_bytes is None else show_bytes(row.size_bytes)
    return mark, row.model_id, "cloud" if row.cloud else "local", size, _say_state(row)


def _say_state(row: ModelRow) -> str:
    if row.refusal is None:
        return f"ready  {row.note}"
    if row.refusal.satisfy.startswith(_PULL):
        return f"not on this machine → {row.refusal.satisfy}"
    missing = f"{row.refusal.message} → {row.refusal.satisfy}"
    is_here = row.size_bytes is not None
    # Of a file the note says in which store it lies, which matters whatever is missing.
    return f"{missing}  ({row.note})" if is_here else missing
