"""`shard` and `jupyter shard`: choose a command, tell errors in one line, end with a code.

Start-up is counted in milliseconds: only the chosen command's module is imported, and nothing
imported here imports pydantic, anyio or an SDK.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence

from shard_jupyter.errors import Bug, ShardError, UsageError
from shard_jupyter.surfaces.cli.command_tree import PROGRAM, build_parser
from shard_jupyter.surfaces.cli.exit_codes import (
    FAILED,
    INTERRUPTED,
    exit_code_of_error,
    is_reader_gone,
)
from shard_jupyter.surfaces.conversation.soft_encoding import soften_encoding

_NO_WINDOWS = "Windows is not supported; run it in WSL (the Windows Subsystem for Linux)."


def run_cli(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code. A `Bug` is not caught: it keeps its story."""
    if sys.platform == "win32":
        return _tell(_NO_WINDOWS, FAILED)
    _open_closed_streams()
    soften_encoding(sys.stdout, sys.stderr)
    try:
        return _run(sys.argv[1:] if arguments is None else arguments)
    except Bug:
        raise
    except ShardError as error:
        return _tell(str(error), exit_code_of_error(error))
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        if not is_reader_gone(error):
            raise
        # Whoever read our output has gone; Python must not complain of it again at its exit.
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, sys.stdout.fileno())
        os.dup2(sink, sys.stderr.fileno())
        return FAILED


def _open_closed_streams() -> None:
    """Put a sink where the caller has closed a standard stream (`>&-`).

    Else the next file that is opened takes its number, and what is printed goes into that file.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            sink = os.open(os.devnull, os.O_RDWR)
            if sink != number:
                os.dup2(sink, number)
                os.close(sink)
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))


def _run(arguments: Sequence[str]) -> int:
    try:
        chosen = build_parser().parse_args(arguments)
    except SystemExit as end:  # argparse ends so after --help and --version
        return int(end.code or 0)
    _check_folder()
    module = importlib.import_module(f"shard_jupyter.surfaces.cli.commands.{chosen.command}")
    code: int = module.run_command(chosen)
    sys.stdout.flush()
    return code


def _check_folder() -> None:
    try:
        os.getcwd()  # noqa: PTH109 - pathlib is not loaded yet
    except OSError:
        raise UsageError(
            "The current folder does not exist any more.", next_step="Go to one that does."
        ) from None


def _tell(message: str, code: int) -> int:
    # Here, because its table of characters takes a millisecond that a good call need not pay.
    from shard_jupyter.surfaces.render_static.visible_text import (  # noqa: PLC0415
        make_visible_line,
    )

    sys.stderr.write(f"{PROGRAM}: {make_visible_line(message)}\n")
    return code


if __name__ == "__main__":
    sys.exit(run_cli())
