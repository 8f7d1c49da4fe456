"""From an error on the wire back to the class of `errors.py` that it was on the other side.

Programs go by the class or by `code`; both are what they would be without a wire in between. What
an error held besides its texts (the owner of a lock, the result of a turn) stays on the other side.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from shard_jupyter.errors import (
    AgentBusy,
    AgentClosed,
    AnswerMismatch,
    Bug,
    CassetteMismatch,
    ClientVisibleError,
    CommandError,
    ConfigError,
    FrameError,
    IllegalTransition,
    ModelVisibleError,
    NetworkForbidden,
    SessionDamaged,
    SessionNotFound,
    ShardError,
    StorageError,
    StorePoisoned,
    ToolFailed,
    ToolInputError,
    TurnFailed,
    UnknownMode,
    UnknownModel,
    UsageError,
    UserError,
    WriterBusy,
    WriterFenced,
)
from shard_jupyter.protocol.envelope import REFUSAL_CODES, WireError

UNSUPPORTED = "unsupported"
"""The command is a good one, and this server cannot carry it out."""
HELLO = "hello"
"""`hello` comes first on a connection, and once."""
TOO_MANY = "too_many"
"""More commands wait for their reply than one connection may have."""

_PLAIN: tuple[type[ShardError], ...] = (
    UserError,
    UsageError,
    ConfigError,
    UnknownModel,
    UnknownMode,
    SessionNotFound,
    NetworkForbidden,
    CassetteMismatch,
    AgentBusy,
    AgentClosed,
    ModelVisibleError,
    ToolInputError,
    ToolFailed,
    ClientVisibleError,
    StorageError,
    WriterFenced,
    StorePoisoned,
    SessionDamaged,
    Bug,
)
_FRAME_CODES = ("json", "utf8", "unicode", "depth", "too_large", "number", "duplicate_key")
_COMMAND_CODES = ("schema", "unknown_type", "version", "direction", "rule")

Restore = Callable[[WireError], ShardError]


def error_from_wire(error: WireError) -> ShardError:
    """Make the error again; a code that is not known here gives a plain `ShardError` with it."""
    restored = _RESTORE.get(error.code, partial(_restore, ShardError))(error)
    restored.message, restored.next_step = error.message, error.next_step
    return restored


def _restore(kind: type[ShardError], error: WireError) -> ShardError:
    return kind(error.message, code=error.code)


def _restore_command_error(error: WireError) -> ShardError:
    return CommandError(error.message, code=error.code)


def _restore_turn_failure(error: WireError) -> ShardError:
    return TurnFailed(error.message, None, code=error.code)


def _restore_writer_busy(error: WireError) -> ShardError:
    return WriterBusy(error.message, owner="unknown")


_RESTORE: dict[str, Restore] = {
    **{kind.code: partial(_restore, kind) for kind in _PLAIN},
    **dict.fromkeys((UNSUPPORTED, HELLO, TOO_MANY), partial(_restore, ClientVisibleError)),
    **dict.fromkeys(REFUSAL_CODES, partial(_restore, UserError)),
    **dict.fromkeys(_FRAME_CODES, partial(_restore, FrameError)),
    **dict.fromkeys(_COMMAND_CODES, _restore_command_error),
    AnswerMismatch.code: lambda error: AnswerMismatch(error.message),
    TurnFailed.code: _restore_turn_failure,
    WriterBusy.code: _restore_writer_busy,
    IllegalTransition.code: lambda _: IllegalTransition("", "", ""),
}
