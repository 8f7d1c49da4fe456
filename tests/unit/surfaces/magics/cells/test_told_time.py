"""A cell that ran out of time tells the time that it was given."""

from __future__ import annotations

import pytest

from shard_jupyter.surfaces.magics.cells.cell_turn import tell_whole_time
from shard_jupyter.types.turns import ErrorInfo

pytestmark = pytest.mark.proves("D02")


def test_the_whole_time_is_told_though_a_correction_had_less() -> None:
    error = ErrorInfo(code="timeout", message="after 0.0271828 s", next_step="Raise --timeout.")
    told = tell_whole_time(error, 30.0)
    assert told is not None
    assert (told.message, told.next_step) == ("The turn was stopped after 30 s.", error.next_step)


def test_other_errors_stay() -> None:
    error = ErrorInfo(code="cut", message="cut", next_step="")
    assert tell_whole_time(error, 30.0) == error
    assert tell_whole_time(None, 30.0) is None
