"""What every record has in common, the limits on all of them, and the reply to a command.

A reply answers one command, named by `re`; `re` is null only where the id could not be read.
Errors are plain data with a stable `code`. A refusal (something that the caller can mend) is an
error that also carries the `Refusal` value, so that no client has to read prose.
"""

from __future__ import annotations

from typing import Any, Literal, Self, get_args

from pydantic import StrictBool, model_validator

from shard_jupyter.errors import ShardError
from shard_jupyter.types.ids import Id
from shard_jupyter.types.refusals import Refusal
from shard_jupyter.types.wire_model import WireModel

MAX_STREAM_BYTES = 16 * 1024 * 1024
"""One record on stdio, a socketpair or the unix socket, without its LF."""
MAX_WEBSOCKET_BYTES = 4 * 1024 * 1024
"""One text frame, after inflation."""
MAX_BROWSER_BYTES = 1024 * 1024
"""One text frame that a browser sends."""
MAX_DEPTH = 64
"""Objects and arrays inside each other; the record itself is the first."""
MAX_NUMBER = 2**53 - 1
"""Largest absolute value of any number; beyond it JavaScript loses digits."""
MAX_VALUES = 250_000
"""Members and elements of one record, all levels together: what parsing may cost in memory."""
REFUSAL_CODES: tuple[str, ...] = get_args(Refusal.model_fields["kind"].annotation)


class WireError(WireModel):
    """An error as a client reads it. `code` never changes its meaning."""

    code: str
    message: str
    next_step: str = ""
    """What to do about it, for a person; may be empty."""
    refusal: Refusal | None = None
    """What is missing, where the caller can supply it."""


class Reply(WireModel):
    """The one answer to a command. Exactly one of `result` and `error` is there."""

    v: Literal[1] = 1
    type: Literal["reply"] = "reply"
    re: Id | None
    """The command's id; null when it could not be read."""
    ok: StrictBool
    result: dict[str, Any] | None = None
    error: WireError | None = None

    @model_validator(mode="after")
    def check_one_of(self) -> Self:
        if self.ok != (self.error is None) or self.ok != (self.result is not None):
            raise ValueError("a reply has a result when ok, else an error")
        return self


class EmptyResult(WireModel):
    """The result of a command that has nothing to tell but that it was done."""


def ok_reply(command_id: Id, result: WireModel | None = None) -> Reply:
    """Answer a command that was carried out."""
    data = {} if result is None else result.model_dump(mode="json", by_alias=True)
    return Reply(re=command_id, ok=True, result=data)


def error_reply(command_id: Id | None, error: ShardError) -> Reply:
    """Answer a command, or a record that could not even be read (`command_id` None).

    An error whose code is a refusal's says what is missing also as a value.
    """
    refusal = None
    if error.code in REFUSAL_CODES:
        fields = {"kind": error.code, "message": error.message, "satisfy": error.next_step}
        refusal = Refusal.model_validate(fields)
    wire = WireError(
        code=error.code, message=error.message, next_step=error.next_step, refusal=refusal
    )
    return Reply(re=command_id, ok=False, error=wire)


def refusal_reply(command_id: Id, refusal: Refusal) -> Reply:
    """Answer a command that could be carried out if the caller supplied what is missing."""
    wire = WireError(
        code=refusal.kind,
        message=refusal.message,
        next_step=refusal.satisfy,
        refusal=refusal,
    )
    return Reply(re=command_id, ok=False, error=wire)
