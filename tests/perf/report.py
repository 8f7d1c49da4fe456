"""Rows of figures and how they are printed."""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Row:
    what: str
    value: str
    goal: str = ""

    def as_dict(self) -> dict[str, str]:
        return asdict(self)


@dataclass
class Stopwatch:
    """Wall and CPU milliseconds since it was made; CPU counts ended children too."""

    def __post_init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), cpu_seconds()

    def read(self) -> tuple[float, float]:
        wall = (time.perf_counter() - self._wall) * 1000
        return wall, (cpu_seconds() - self._cpu) * 1000


def cpu_seconds() -> float:
    total = 0.0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        usage = resource.getrusage(who)
        total += usage.ru_utime + usage.ru_stime
    return total


def median_pair(pairs: Sequence[tuple[float, float]]) -> str:
    wall = statistics.median(pair[0] for pair in pairs)
    cpu = statistics.median(pair[1] for pair in pairs)
    return f"{wall:.1f} / {cpu:.1f} ms"


def print_rows(rows: Sequence[Row]) -> None:
    widths = [max(len(getattr(row, key)) for row in rows) for key in ("what", "value", "goal")]
    print(f"{'what':<{widths[0]}}  {'measured':<{widths[1]}}  goal")
    for row in rows:
        print(f"{row.what:<{widths[0]}}  {row.value:<{widths[1]}}  {row.goal}")
