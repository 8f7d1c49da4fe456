"""When a cell fails, and who decides in its turn."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from shard_jupyter.errors import AnswerMismatch, TurnFailed, UnknownModel
from shard_jupyter.surfaces.magics.cell_options import CellOptions
from shard_jupyter.surfaces.magics.cells.cell_place import CellPlace
from shard_jupyter.surfaces.magics.cells.cell_turn import (
    choose_ask,
    describe_error,
    find_failure,
)
from shard_jupyter.types.events import TurnEnd
from shard_jupyter.types.turns import Denial, ErrorInfo

pytestmark = pytest.mark.proves("D02", "D09")
DENIAL = Denial(call_id="c", tool="bash", reason="Nobody could be asked.")


def ended(outcome: Any, **more: Any) -> TurnEnd:
    return TurnEnd(agent_id="a", turn_id="t", outcome=outcome, **more)


@pytest.mark.parametrize(
    ("end", "code"),
    [
        (ended("completed"), None),
        (ended("completed", denials=(DENIAL,)), "denied"),
        (ended("failed", error=ErrorInfo(code="auth", message="No key.")), "auth"),
        (ended("limit_reached", error=ErrorInfo(code="timeout", message="Late.")), "timeout"),
        (ended("interrupted"), "interrupted"),
        (ended("cancelled"), "interrupted"),
    ],
)
def test_a_turn_that_was_not_done_fails_the_cell(end: TurnEnd, code: str | None) -> None:
    failure = find_failure(end, no_raise=False)
    assert (failure and failure.code) == code
    silenced = find_failure(end, no_raise=True)
    assert (silenced and silenced.code) == ("interrupted" if code == "interrupted" else None)


def test_a_stopped_turn_says_that_everything_is_kept_and_what_to_do() -> None:
    failure = find_failure(ended("interrupted"), no_raise=True)
    assert isinstance(failure, TurnFailed)
    assert str(failure) == (
        "Stopped. Everything so far is kept. Run the next cell to go on from here."
    )


def test_an_answer_that_never_fits_fails_with_its_own_error() -> None:
    mismatch = AnswerMismatch("It does not fit.", ["x"])
    end = ended("failed", error=describe_error(mismatch))
    assert find_failure(end, mismatch, no_raise=False) is mismatch
    assert find_failure(end, mismatch, no_raise=True) is None


@pytest.mark.parametrize(
    ("asked", "model", "can_ask", "ask"),
    [
        (None, "openai:x", True, "inline"),
        (None, "openai:x", False, None),
        (None, "replay:f.json", True, "recorded"),
        (None, "replay:f.json", False, "recorded"),
        ("rules", "replay:f.json", True, "rules"),
        ("yes", "openai:x", False, "yes"),
    ],
)
def test_who_decides(asked: Any, model: str, can_ask: bool, ask: str | None) -> None:
    cell: Any = SimpleNamespace(
        options=CellOptions(ask=asked), place=CellPlace("console", can_ask=can_ask)
    )
    assert choose_ask(cell, model) == ask


def test_an_error_is_described_by_its_code_or_its_name() -> None:
    known = describe_error(UnknownModel("No model x.", next_step="Choose one."))
    assert (known.code, known.message, known.next_step) == (
        "unknown_model", "No model x.", "Choose one.",
    )  # fmt: skip
    assert describe_error(RuntimeError("odd")).message == "RuntimeError: odd"
    assert describe_error(RuntimeError()).message == "RuntimeError"
