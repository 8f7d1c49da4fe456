from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from shard_jupyter.surfaces.magics.line.views.moments import say_when

pytestmark = pytest.mark.proves("D02")
NOW = datetime(2026, 3, 10, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("ago", "told"),
    [
        (timedelta(seconds=-5), "just now"),
        (timedelta(seconds=59), "just now"),
        (timedelta(seconds=60), "1 min ago"),
        (timedelta(minutes=12, seconds=59), "12 min ago"),
        (timedelta(minutes=59, seconds=59), "59 min ago"),
        (timedelta(hours=2), "2 h ago"),
        (timedelta(hours=23, minutes=59), "23 h ago"),
        (timedelta(days=1), "1 d ago"),
        (timedelta(days=29), "29 d ago"),
    ],
)
def test_time_that_has_passed_is_told_in_one_unit(ago: timedelta, told: str) -> None:
    assert say_when((NOW - ago).isoformat(), NOW) == told


def test_long_ago_is_a_date_and_what_lies_ahead_a_date_with_its_time() -> None:
    assert say_when((NOW - timedelta(days=45)).isoformat(), NOW) == "2026-01-24"
    ahead = say_when((NOW + timedelta(days=1)).isoformat(), NOW)
    assert ahead.startswith("2026-03-1")
    assert ":" in ahead


def test_a_timestamp_without_a_zone_is_utc_and_one_that_is_none_is_shown_as_it_is() -> None:
    assert say_when("2026-03-10T11:00:00", NOW) == "1 h ago"
    assert say_when("", NOW) == ""
    assert say_when("yesterday", NOW) == "yesterday"
