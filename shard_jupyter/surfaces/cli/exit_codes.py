"""What the process says of itself when it ends. Light: `main` imports it."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from shard_jupyter.errors import ShardError, UsageError

if TYPE_CHECKING:
    from shard_jupyter.types.turns import TurnResult

DONE = 0
FAILED = 1
USAGE = 2
DENIED = 3
LIMIT = 4
INTERRUPTED = 130

MEANINGS = {
    DONE: "the work was done",
    FAILED: "it failed",
    USAGE: "the call was wrong",
    DENIED: "something it needed was denied, because of a rule or because nobody could be asked",
    LIMIT: "a limit, the budget or the time ran out",
    INTERRUPTED: "interrupted",
}


def exit_code(result: TurnResult) -> int:
    """Judge a turn. A denial counts whatever the model says of its success; pure."""
    if result.outcome in ("interrupted", "cancelled"):
        return INTERRUPTED
    if result.outcome == "limit_reached":
        return LIMIT
    if result.denials:
        return DENIED
    return DONE if result.outcome == "completed" else FAILED


def is_reader_gone(error: Exception) -> bool:
    """Whether nobody reads the output any more: a pipe was closed, or a terminal."""
    if isinstance(error, BrokenPipeError):
        return True
    return isinstance(error, OSError) and error.errno == errno.EIO


def exit_code_of_error(error: ShardError) -> int:
    return USAGE if isinstance(error, UsageError) else FAILED
