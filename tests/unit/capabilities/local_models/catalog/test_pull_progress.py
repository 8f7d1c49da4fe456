from __future__ import annotations

import pytest

from shard_jupyter.capabilities.local_models.catalog.pull_progress import (
    ProgressMeter,
    PullProgress,
)

pytestmark = pytest.mark.proves("C10")


def test_at_most_ten_reports_a_second_and_always_the_first_and_the_last() -> None:
    now = 0.0
    told: list[PullProgress] = []
    meter = ProgressMeter(told.append, clock=lambda: now)
    for step in range(1, 1001):
        now = step / 500  # two seconds in all
        meter.report(PullProgress("download", "hub", step, 1000))
    assert 15 <= len(told) <= 22
    assert (told[0].done_bytes, told[-1].done_bytes) == (1, 1000)


def test_another_phase_or_source_is_told_at_once() -> None:
    told: list[PullProgress] = []
    meter = ProgressMeter(told.append, clock=lambda: 0.0)
    reports = [
        PullProgress("ask", "hub"),
        PullProgress("failed", "hub", note="no"),
        PullProgress("ask", "index"),
        PullProgress("download", "index", 1, 100),
    ]
    for report in reports:
        meter.report(report)
    meter.report(PullProgress("download", "index", 2, 100))
    assert told == reports
