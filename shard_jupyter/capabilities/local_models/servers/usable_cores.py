"""How many cores this process may really use, and how many of them a server gets."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

_CGROUPS = Path("/sys/fs/cgroup")
_OWN_CGROUP = Path("/proc/self/cgroup")


def count_server_threads() -> int:
    """All cores but one: the engine spins, and with all of them it is many times slower."""
    return max(1, count_usable_cores() - 1)


def count_usable_cores() -> int:
    cores = float(_count_allowed())
    for quota in find_quotas():
        cores = min(cores, quota)
    return max(1, int(cores))


def _count_allowed() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def find_quotas(own: Path = _OWN_CGROUP, root: Path = _CGROUPS) -> Iterator[float]:
    """Yield the limit of this process's control group and of those around it, in cores."""
    for line in _read(own).split("\n"):
        fields = line.split(":", 2)
        if len(fields) < 3:
            continue
        version_2 = fields[1] == ""
        if version_2:
            top = root
        elif "cpu" in fields[1].split(","):
            top = root / "cpu"
        else:
            continue
        for folder in _walk_up(top, fields[2].strip("/")):
            quota = (
                parse_cpu_max(_read(folder / "cpu.max"))
                if version_2
                else parse_cfs(
                    _read(folder / "cpu.cfs_quota_us"), _read(folder / "cpu.cfs_period_us")
                )
            )
            if quota is not None:
                yield quota


def _walk_up(top: Path, below: str) -> Iterator[Path]:
    """Yield `top/below` and all above it up to `top`; inside a container only `top` may exist."""
    parts = [part for part in below.split("/") if part not in ("", "..")]
    for depth in range(len(parts), -1, -1):
        yield top.joinpath(*parts[:depth])


def parse_cpu_max(text: str) -> float | None:
    """Read `cpu.max` of version 2: `QUOTA PERIOD` in microseconds, or `max PERIOD`."""
    fields = text.split()
    return _divide(fields[0], fields[1]) if len(fields) == 2 else None


def parse_cfs(quota: str, period: str) -> float | None:
    """Read the two files of version 1; a quota of -1 is no limit."""
    return _divide(quota.strip(), period.strip())


def _divide(quota: str, period: str) -> float | None:
    if not quota.isdecimal() or not period.isdecimal() or int(period) == 0:
        return None
    return int(quota) / int(period)


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("ascii", "replace")
    except OSError:  # another system, or another version of control groups
        return ""
