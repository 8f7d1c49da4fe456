"""`shard usage`: tokens and cost by day and model. A cost that is not known is not shown as 0."""

from __future__ import annotations

import argparse
import os
import sys

import anyio

from shard_jupyter.core.config.config_files import find_state_home
from shard_jupyter.store.usage_log import LOG_NAME, UsageLog, UsageRow
from shard_jupyter.surfaces.cli.exit_codes import DONE
from shard_jupyter.surfaces.cli.output import align_columns, write_json, write_lines
from shard_jupyter.surfaces.render_static.words.numbers import show_cost, show_count


def run_command(arguments: argparse.Namespace) -> int:
    report = anyio.run(UsageLog(find_state_home(os.environ) / LOG_NAME).report)
    if arguments.json:
        write_json(report.model_dump(mode="json"))
    elif report.rows:
        head = ("day", "model", "calls", "input", "output", "cost")
        write_lines(align_columns([head, *map(_cells, report.rows)]))
    if report.unreadable_lines and not arguments.json:
        sys.stderr.write(f"shard: lines that could not be read: {report.unreadable_lines}.\n")
    return DONE


def _cells(row: UsageRow) -> tuple[str, ...]:
    totals = row.totals
    # A sum with unknown parts is a lower bound, and says so.
    more = "+" if totals.unknown_calls else ""
    return (
        row.day,
        row.model,
        str(totals.model_calls),
        show_count(totals.input_tokens) + more,
        show_count(totals.output_tokens) + more,
        show_cost(totals.cost_usd),
    )
