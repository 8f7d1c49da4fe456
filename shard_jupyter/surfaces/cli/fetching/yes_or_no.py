"""Ask a person for a yes before something is done."""

from __future__ import annotations

import sys

from shard_jupyter.errors import UsageError

_YES = frozenset({"y", "yes"})


def ask_yes(question: str) -> bool:
    """Ask on stderr, read from the terminal on stdin. Only a plain yes is one. Blocks.

    Raises:
        UsageError: nobody is there to answer.
    """
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(
            "Nobody can be asked here: stdin and stderr are no terminal.",
            next_step="Give --yes to agree.",
        )
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    line = sys.stdin.readline()
    if not line.endswith("\n"):
        sys.stderr.write("\n")
    return line.strip().lower() in _YES
