"""A growing output is sent rarely enough for servers, browsers and the kernel's own loop."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shard_jupyter.surfaces.magics.outputs.update_pace import (
    BYTES_PER_SECOND,
    KERNEL_SECONDS,
    KernelPace,
    UpdatePace,
)

pytestmark = pytest.mark.proves("D02")


def test_a_small_output_is_sent_ten_times_a_second() -> None:
    pace = UpdatePace(KernelPace())
    assert pace.due_at == 0
    pace.sent(5.0, size=100, work_seconds=0.001)
    assert pace.due_at == pytest.approx(5.1)


def test_a_large_output_is_sent_rarely() -> None:
    pace = UpdatePace(KernelPace())
    pace.sent(0.0, size=450_000, work_seconds=0.0)
    assert pace.due_at == pytest.approx(0.45)


def test_an_output_that_takes_long_to_make_leaves_the_loop_nine_tenths_of_the_time() -> None:
    pace = UpdatePace(KernelPace())
    pace.sent(0.0, size=1, work_seconds=0.2)
    assert pace.due_at == pytest.approx(2.0)


@given(st.integers(1, 60), st.lists(st.integers(1, 500_000), min_size=1, max_size=200))
def test_all_cells_together_stay_under_the_limit_of_the_kernel(
    cells: int, sizes: list[int]
) -> None:
    kernel = KernelPace()
    paces = [UpdatePace(kernel) for _ in range(cells)]
    sent: list[tuple[float, int]] = []
    for size in sizes:
        pace = min(paces, key=lambda pace: pace.due_at)
        now = pace.due_at
        pace.sent(now, size=size, work_seconds=0.0)
        sent.append((now, size))
    times = [moment for moment, _ in sent]
    assert times == sorted(times)
    for first, second in pairwise(times):
        assert second - first >= KERNEL_SECONDS - 1e-9
    if cells == 1 and len(times) > 1:
        assert sum(sizes[:-1]) <= BYTES_PER_SECOND * (times[-1] - times[0]) + 1
