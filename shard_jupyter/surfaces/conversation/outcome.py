"""When a turn counts as a failure: the same everywhere (exit codes, SDK, notebook cells). Pure."""

from __future__ import annotations

from shard_jupyter.errors import TurnFailed
from shard_jupyter.types.turns import TurnResult


def raise_for_outcome(result: TurnResult) -> None:
    """Raise unless the work was done.

    Raises:
        TurnFailed: `code` is the error's, `denied`, or the outcome.
    """
    if result.denials:
        denial = result.denials[0]
        allow = f" This rule would allow it: {denial.would_allow}." if denial.would_allow else ""
        raise TurnFailed(
            f"A call of {denial.tool!r} was denied: {denial.reason}",
            result,
            code="denied",
            next_step=f"Answer approvals, or add a rule to permissions.rules.{allow}",
        )
    if result.outcome == "completed":
        return
    if result.error is not None:
        raise TurnFailed(
            result.error.message, result, code=result.error.code, next_step=result.error.next_step
        )
    raise TurnFailed(f"The turn was {result.outcome}.", result, code=result.outcome)
