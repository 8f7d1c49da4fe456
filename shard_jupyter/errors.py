"""Every error of the package, and who is meant to read it.

ShardError                     has `code` (stable, for machines) and `next_step` (for people)
├── UserError                  the person or program that called: mend the call
│   ├── UsageError             a wrong option or argument
│   ├── ConfigError            a configuration file or key
│   ├── UnknownModel           no such model id, or none chosen
│   ├── UnknownMode            no such mode
│   ├── SessionNotFound        no such session
│   ├── NetworkForbidden       `network = local` and a cloud route
│   ├── CassetteMismatch       a replayed run asked for something that was not recorded
│   ├── AgentBusy              a second prompt while one runs
│   ├── AgentClosed            the agent was closed
│   ├── AnswerMismatch         an answer that does not fit the schema it was asked for
│   └── TurnFailed             a turn did not end as completed
├── ModelVisibleError          the model: becomes the tool result, the turn goes on
│   ├── ToolInputError         arguments that do not fit the tool
│   └── ToolFailed             the tool could not do it
├── ClientVisibleError         a client: becomes an error reply on the wire
│   ├── FrameError             bytes that are no record
│   └── CommandError           a record that is no valid command
├── StorageError               the person and every client: something is wrong with the disk
│   ├── WriterBusy             another process holds the session
│   ├── WriterFenced           a newer generation took the session over
│   ├── StorePoisoned          an earlier write failed, nothing more is written
│   └── SessionDamaged         a file that cannot be opened even after repair
└── Bug                        us: never caught, never shown as anything else
    └── IllegalTransition      a state machine got an event it has no row for
"""

from __future__ import annotations

import re
from collections.abc import Callable

_OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


class ShardError(Exception):
    """Root of the tree. `code` never changes its meaning; `next_step` may be empty."""

    code = "error"

    def __init__(self, message: str, *, code: str | None = None, next_step: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.next_step = next_step
        if code is not None:
            self.code = code

    def __str__(self) -> str:
        return join_sentences(self.message, self.next_step)

    @property
    def _render_traceback_(self) -> Callable[[], list[str]]:
        """What IPython shows instead of a traceback: who made the call cannot mend our code."""
        return self._tell_in_one_line

    def _tell_in_one_line(self) -> list[str]:
        # A name in it may come from a file or a model, and a terminal obeys what it is shown.
        told = _OBEYED.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", str(self))
        return [f"{type(self).__name__}: {told}"]


def join_sentences(first: str, second: str) -> str:
    """Put two texts after each other; what a server or a system says often lacks its full stop."""
    if not first or not second:
        return first or second
    if "\n" in first:  # ends with what was quoted
        return f"{first}\n{second}"
    return (
        f"{first} {second}" if first.endswith((".", "!", "?", ":", "…")) else f"{first}. {second}"
    )


class UserError(ShardError):
    """Read by whoever made the call."""

    code = "user_error"


class UsageError(UserError):
    code = "usage"


class ConfigError(UserError):
    code = "config"


class UnknownModel(UserError):
    code = "unknown_model"


class UnknownMode(UserError):
    code = "unknown_mode"


class SessionNotFound(UserError):
    code = "session_not_found"


class NetworkForbidden(UserError):
    code = "network_local"


class CassetteMismatch(UserError):
    code = "cassette_mismatch"


class AgentBusy(UserError):
    code = "agent_busy"


class AgentClosed(UserError):
    code = "agent_closed"


class AnswerMismatch(UserError):
    """An answer that does not fit the schema it was asked for.

    Attributes:
        problems: one line for each place that does not fit, for a person and for the model.
    """

    code = "answer_mismatch"

    def __init__(
        self, message: str, problems: tuple[str, ...] = (), *, next_step: str = ""
    ) -> None:
        super().__init__(message, next_step=next_step)
        self.problems = problems


class TurnFailed(UserError):
    """A turn that did not end as completed.

    Attributes:
        result: the `TurnResult`, so that a caller can still use what was answered.
    """

    code = "turn_failed"

    def __init__(self, message: str, result: object, *, code: str, next_step: str = "") -> None:
        super().__init__(message, code=code, next_step=next_step)
        self.result = result


class ModelVisibleError(ShardError):
    """Read by the model, as the result of its tool call."""

    code = "tool_error"


class ToolInputError(ModelVisibleError):
    code = "tool_input"


class ToolFailed(ModelVisibleError):
    code = "tool_failed"


class ClientVisibleError(ShardError):
    """Read by a client of the protocol; `code` goes on the wire."""

    code = "client_error"


class FrameError(ClientVisibleError):
    """Bytes that are no record. The connection stays usable.

    `code` is one of json, utf8, unicode, depth, too_large, number, duplicate_key, schema.
    """

    code = "json"


class CommandError(ClientVisibleError):
    """A record that is no valid command; `command_id` is echoed where it was readable.

    `code` is one of schema, unknown_type, version, direction, rule.
    """

    code = "schema"

    def __init__(self, message: str, *, code: str, command_id: str | None = None) -> None:
        super().__init__(message, code=code)
        self.command_id = command_id


class StorageError(ShardError):
    """Read by the person and by every client: the disk, not the agent, is at fault."""

    code = "storage"


class WriterBusy(StorageError):
    """Another process writes this session.

    Attributes:
        owner: what the lock file says of its holder, or "unknown".
    """

    code = "writer_busy"

    def __init__(self, message: str, *, owner: str) -> None:
        super().__init__(message, next_step="Close it there first, or start a new session.")
        self.owner = owner


class WriterFenced(StorageError):
    code = "writer_fenced"


class StorePoisoned(StorageError):
    code = "store_poisoned"


class SessionDamaged(StorageError):
    code = "session_damaged"


class Bug(ShardError):
    """A fault of this package. Never caught: it must reach the log and the test."""

    code = "bug"

    @property
    def _render_traceback_(self) -> Callable[[], list[str]]:
        raise AttributeError("IPython shows the traceback of a fault of ours")


class IllegalTransition(Bug):
    """An event for which the table has no row; carries the story that led to it."""

    code = "illegal_transition"

    def __init__(self, machine: str, state: str, event: str, story: tuple[str, ...] = ()) -> None:
        last = "".join(f"\n  {line}" for line in story[-20:])
        super().__init__(f"{machine}: no transition for {event!r} in state {state!r}{last}")
        self.machine, self.state, self.event, self.story = machine, state, event, story
