from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from shard_jupyter.errors import StorageError
from shard_jupyter.store.usage_log import UsageLog, sum_usage
from shard_jupyter.types.usage import TokenUsage, UsageRecord

pytestmark = pytest.mark.proves("A19")


def record(
    day: str = "2026-03-01", model: str = "openai:m", cost: float | None = 0.5, **tokens: int
) -> UsageRecord:
    return UsageRecord(
        agent_id="agent-1",
        turn_id="turn-1",
        model=model,
        tokens=TokenUsage(**tokens),
        cost_usd=cost,
        timestamp=f"{day}T10:00:00Z",
    )


@pytest.fixture
def log(tmp_path: Path) -> UsageLog:
    return UsageLog(tmp_path / "usage.jsonl")


async def test_no_file_is_no_usage(log: UsageLog) -> None:
    report = await log.report()
    assert (report.rows, report.unreadable_lines) == ((), 0)


async def test_records_come_back_in_order_and_the_file_is_private(log: UsageLog) -> None:
    records = [record(input_tokens=number) for number in range(3)]
    for each in records:
        await log.append(each)
    assert await log.read() == (records, 0)
    assert log.path.stat().st_mode & 0o777 == 0o600


async def test_a_torn_line_costs_only_itself(log: UsageLog) -> None:
    await log.append(record(input_tokens=1))
    with log.path.open("ab") as file:
        file.write(b'{"agent_id":"half')
    await log.append(record(input_tokens=2))
    with log.path.open("ab") as file:
        file.write(b"\0\0\0\n\xff\n")
    await log.append(record(input_tokens=3))
    records, unreadable = await log.read()
    assert [each.tokens.input_tokens for each in records] == [1, 2, 3]
    assert unreadable == 3
    assert (await log.report()).unreadable_lines == 3


async def test_many_agents_append_at_once(log: UsageLog) -> None:
    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            for number in range(100):
                group.start_soon(log.append, record(input_tokens=number))
    records, unreadable = await log.read()
    assert sorted(each.tokens.input_tokens or 0 for each in records) == list(range(100))
    assert unreadable == 0


def test_sums_are_per_day_and_model() -> None:
    rows = sum_usage(
        [
            record("2026-03-02", input_tokens=1, output_tokens=2),
            record("2026-03-01", input_tokens=10, output_tokens=20),
            record("2026-03-01", input_tokens=30, output_tokens=40),
            record("2026-03-01", model="local:m", input_tokens=5),
        ]
    )
    assert [(row.day, row.model) for row in rows] == [
        ("2026-03-01", "local:m"),
        ("2026-03-01", "openai:m"),
        ("2026-03-02", "openai:m"),
    ]
    middle = rows[1].totals
    assert (middle.model_calls, middle.input_tokens, middle.output_tokens) == (2, 40, 60)
    assert middle.cost_usd == 1.0


def test_what_is_unknown_stays_unknown() -> None:
    (row,) = sum_usage([record(cost=None), record(cost=None, input_tokens=3)])
    assert row.totals.cost_usd is None
    assert row.totals.unknown_calls == 1
    (row,) = sum_usage([record(cost=None), record(cost=0.25)])
    assert row.totals.cost_usd == 0.25


async def test_a_folder_that_is_missing_is_a_storage_error(tmp_path: Path) -> None:
    with pytest.raises(StorageError):
        await UsageLog(tmp_path / "none" / "usage.jsonl").append(record())
    (tmp_path / "usage.jsonl").mkdir()
    with pytest.raises(StorageError):
        await UsageLog(tmp_path / "usage.jsonl").read()
