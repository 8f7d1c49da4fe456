"""`shard models`: the models known from configuration, and what each still needs."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import anyio

from shard_jupyter.core.config.load_settings import load_settings
from shard_jupyter.surfaces.cli.exit_codes import DONE
from shard_jupyter.surfaces.cli.model_rows import list_models, open_router
from shard_jupyter.surfaces.cli.output import align_columns, write_json, write_lines
from shard_jupyter.types.model_rows import ModelRow


def run_command(arguments: argparse.Namespace) -> int:
    settings = load_settings(os.environ, Path.cwd()).settings
    router, prefixes = anyio.run(open_router, settings, os.environ)
    rows = list_models(settings, prefixes, router.describe)
    if arguments.json:
        write_json([row.model_dump(mode="json") for row in rows])
    else:
        write_lines(align_columns([("", "model", "where", "state"), *map(_cells, rows)]))
    return DONE


def _cells(row: ModelRow) -> tuple[str, str, str, str]:
    refusal = row.refusal
    state = f"{refusal.message} → {refusal.satisfy}" if refusal else f"ready  {row.note}"
    mark = "*" if row.is_default else ""
    return mark, row.model_id, "cloud" if row.cloud else "local", state
