"""Tokens and money of every model call, one line each, for all agents of a SHARD_HOME.

Several agents append at once. A line may be lost to a power cut; the money was spent all the same,
so sums are a lower bound and say how many lines they could not read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import anyio.to_thread
from pydantic import ValidationError

from shard_jupyter.errors import StorageError
from shard_jupyter.store.atomic_file import LF, aappend_line
from shard_jupyter.types.usage import UsageRecord, UsageTotals
from shard_jupyter.types.wire_model import WireModel

LOG_NAME = "usage.jsonl"


class UsageRow(WireModel):
    """One model on one day (UTC)."""

    day: str
    model: str
    totals: UsageTotals


class UsageReport(WireModel):
    """`rows` by day, then model."""

    rows: tuple[UsageRow, ...] = ()
    unreadable_lines: int = 0


class UsageLog:
    """`<SHARD_HOME>/usage.jsonl`. The folder must exist."""

    def __init__(self, path: Path) -> None:
        self.path = path

    async def append(self, record: UsageRecord) -> None:
        """Add one call. Not synced: what it tells is worth no wait.

        Raises:
            StorageError: it could not be written.
        """
        try:
            await aappend_line(self.path, record.model_dump_json().encode())
        except OSError as error:
            raise StorageError(f"{self.path} cannot be written: {error.strerror}.") from error

    async def read(self) -> tuple[list[UsageRecord], int]:
        """Return all records in file order, and the number of lines that hold none."""
        return await anyio.to_thread.run_sync(_read_blocking, self.path)

    async def report(self) -> UsageReport:
        """Sum up per day and model."""
        records, unreadable = await self.read()
        return UsageReport(rows=sum_usage(records), unreadable_lines=unreadable)


def _read_blocking(path: Path) -> tuple[list[UsageRecord], int]:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return [], 0
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror}.") from error
    records, unreadable = [], 0
    for line in data.split(LF):
        if not line:
            continue
        try:
            records.append(UsageRecord.model_validate_json(line))
        except ValidationError:
            unreadable += 1
    return records, unreadable


def sum_usage(records: Iterable[UsageRecord]) -> tuple[UsageRow, ...]:
    """Add up per day and model; pure. A cost is None only if no call of the row has one."""
    groups: dict[tuple[str, str], list[UsageRecord]] = defaultdict(list)
    for record in records:
        groups[record.timestamp[:10], record.model].append(record)
    return tuple(
        UsageRow(day=day, model=model, totals=_add_up(group))
        for (day, model), group in sorted(groups.items())
    )


def _add_up(records: list[UsageRecord]) -> UsageTotals:
    costs = [record.cost_usd for record in records if record.cost_usd is not None]
    return UsageTotals(
        model_calls=len(records),
        input_tokens=sum(record.tokens.input_tokens or 0 for record in records),
        output_tokens=sum(record.tokens.output_tokens or 0 for record in records),
        cost_usd=sum(costs) if costs else None,
        unknown_calls=sum(
            record.tokens.input_tokens is None and record.tokens.output_tokens is None
            for record in records
        ),
    )
