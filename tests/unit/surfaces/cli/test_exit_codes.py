"""An exit code says whether the work was done, whatever the model says."""

from __future__ import annotations

from typing import get_args

import pytest

from shard_jupyter.errors import ConfigError, UnknownModel, UsageError
from shard_jupyter.surfaces.cli.exit_codes import (
    DENIED,
    DONE,
    FAILED,
    INTERRUPTED,
    LIMIT,
    MEANINGS,
    USAGE,
    exit_code,
    exit_code_of_error,
)
from shard_jupyter.types.turns import Denial, Outcome, TurnResult

pytestmark = pytest.mark.proves("B12")
DENIALS = (Denial(call_id="c", tool="bash", reason="nobody"),)


@pytest.mark.parametrize(
    ("outcome", "code", "code_with_denials"),
    [
        ("completed", DONE, DENIED),
        ("failed", FAILED, DENIED),
        ("limit_reached", LIMIT, LIMIT),
        ("interrupted", INTERRUPTED, INTERRUPTED),
        ("cancelled", INTERRUPTED, INTERRUPTED),
    ],
)
def test_outcome_and_denials_decide(outcome: Outcome, code: int, code_with_denials: int) -> None:
    result = TurnResult(turn_id="t", outcome=outcome, text="All done, everything works!")
    assert exit_code(result) == code
    assert exit_code(result.model_copy(update={"denials": DENIALS})) == code_with_denials


def test_every_outcome_has_a_code_with_a_meaning() -> None:
    for outcome in get_args(Outcome):
        assert exit_code(TurnResult(turn_id="t", outcome=outcome)) in MEANINGS


def test_codes_are_the_documented_numbers() -> None:
    assert (DONE, FAILED, USAGE, DENIED, LIMIT, INTERRUPTED) == (0, 1, 2, 3, 4, 130)


def test_only_a_wrong_call_is_a_usage_error() -> None:
    assert exit_code_of_error(UsageError("x")) == USAGE
    assert exit_code_of_error(ConfigError("x")) == FAILED
    assert exit_code_of_error(UnknownModel("x")) == FAILED
