"""`shard completion`: print a script that completes commands and options."""

from __future__ import annotations

import argparse

from shard_jupyter.surfaces.cli.command_tree import build_parser
from shard_jupyter.surfaces.cli.completion_scripts import make_script
from shard_jupyter.surfaces.cli.described_commands import describe_commands
from shard_jupyter.surfaces.cli.exit_codes import DONE
from shard_jupyter.surfaces.cli.output import write_lines


def run_command(arguments: argparse.Namespace) -> int:
    write_lines([make_script(arguments.shell, describe_commands(build_parser()))])
    return DONE
