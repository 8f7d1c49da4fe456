from __future__ import annotations

import pytest

from shard_jupyter.core.limits.totals import add_totals
from shard_jupyter.types.usage import UsageTotals

pytestmark = pytest.mark.proves("D02")
ONE = UsageTotals(model_calls=1, input_tokens=10, output_tokens=2, cost_usd=0.5, unknown_calls=1)


def test_everything_is_added() -> None:
    assert add_totals(ONE, ONE) == UsageTotals(
        model_calls=2, input_tokens=20, output_tokens=4, cost_usd=1.0, unknown_calls=2
    )


def test_a_cost_that_nothing_tells_stays_unknown() -> None:
    free = ONE.model_copy(update={"cost_usd": None})
    assert add_totals(free, free).cost_usd is None
    assert add_totals(free, ONE).cost_usd == 0.5
    assert add_totals(UsageTotals(), UsageTotals()) == UsageTotals()
