"""How a turn ended."""

from __future__ import annotations

from typing import Literal

from shard_jupyter.types.ids import Id
from shard_jupyter.types.usage import UsageTotals
from shard_jupyter.types.wire_model import KeptModel

Outcome = Literal["completed", "failed", "cancelled", "interrupted", "limit_reached"]


class ErrorInfo(KeptModel):
    """An error as plain data."""

    code: str
    message: str
    next_step: str = ""


class Denial(KeptModel):
    """A call that did not run, in a run where nobody could be asked or by a deny rule."""

    call_id: Id
    tool: str
    reason: str
    would_allow: str = ""


class TurnResult(KeptModel):
    """What a prompt came to. `text` is the last assistant message."""

    turn_id: Id
    outcome: Outcome
    text: str = ""
    error: ErrorInfo | None = None
    usage: UsageTotals = UsageTotals()
    denials: tuple[Denial, ...] = ()
    """Denials by rule or because nobody could be asked; a person's are not listed."""
    changed_paths: tuple[str, ...] = ()
    rounds: int = 0
