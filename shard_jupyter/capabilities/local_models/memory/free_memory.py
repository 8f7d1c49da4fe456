"""How much memory a model may take: what is free on the machine and in our control groups."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

RESERVE = 1 << 30
"""Left to everything else."""
_KIB_LINE = re.compile(r"MemAvailable:[ \t]+([0-9]+) kB[ \t]*")
_V2_LIMITS = ("memory.max", "memory.high")
_LONGEST = 1 << 20


def find_available_memory(root: Path = Path("/")) -> int:
    """Return bytes, never below 0. `root` is where /proc and /sys lie. Blocks.

    Counts the memory that the machine can give without swapping and what is left below the limit
    of every control group around this process; pages of files in a group can be dropped, so they
    count as free.
    """
    available = parse_mem_available(_read(root / "proc/meminfo") or "")
    if available is None:
        import psutil  # noqa: PLC0415 - only where there is no /proc

        available = int(psutil.virtual_memory().available)
    groups = _read(root / "proc/self/cgroup") or ""
    limits = [*_look_at_v2(root, groups), *_look_at_v1(root, groups)]
    return max(0, min([available, *limits]) - RESERVE)


def parse_mem_available(meminfo: str) -> int | None:
    """Read bytes from the text of /proc/meminfo."""
    for line in meminfo.split("\n"):
        if found := _KIB_LINE.fullmatch(line):
            return int(found[1]) * 1024
    return None


def parse_group_path(groups: str, controller: str) -> str | None:
    """Find our group in the text of /proc/self/cgroup; controller "" is the one of version 2."""
    for line in groups.split("\n"):
        number, colon, rest = line.partition(":")
        names, second, path = rest.partition(":")
        if not colon or not second or not path.startswith("/"):
            continue
        if controller in names.split(",") and (controller or number == "0"):
            return path
    return None


def list_group_folders(base: Path, group: str) -> Iterator[Path]:
    """List a group and all groups around it, up to `base`, which is where a container sees its own.

    A path with `..` is what a process outside its namespace sees: then only `base` is ours to read.
    """
    parts = PurePosixPath(group).parts[1:]
    if ".." not in parts:
        for length in range(len(parts), 0, -1):
            yield base.joinpath(*parts[:length])
    yield base


def count_group_room(limit: str | None, used: str | None, stat: str, cache_key: str) -> int | None:
    """Return the bytes left in one group, None where it has no limit.

    The arguments are the texts of its files; `cache_key` names the line of pages that can be
    dropped.
    """
    most = parse_number(limit)
    if most is None:
        return None
    taken = parse_number(used) or 0
    for line in stat.split("\n"):
        key, _, value = line.partition(" ")
        if key == cache_key:
            taken -= parse_number(value) or 0
    return max(0, most - max(0, taken))


def parse_number(text: str | None) -> int | None:
    """Read a number of a control file; None for `max` and for what cannot be read."""
    digits = (text or "").strip()
    return int(digits) if digits.isascii() and digits.isdigit() else None


def _look_at_v2(root: Path, groups: str) -> Iterator[int]:
    group = parse_group_path(groups, "")
    if group is None:
        return
    for folder in list_group_folders(root / "sys/fs/cgroup", group):
        for name in _V2_LIMITS:
            stat = _read(folder / "memory.stat") or ""
            used = _read(folder / "memory.current")
            room = count_group_room(_read(folder / name), used, stat, "inactive_file")
            if room is not None:
                yield room


def _look_at_v1(root: Path, groups: str) -> Iterator[int]:
    group = parse_group_path(groups, "memory")
    if group is None:
        return
    for folder in list_group_folders(root / "sys/fs/cgroup/memory", group):
        limit = _read(folder / "memory.limit_in_bytes")
        used = _read(folder / "memory.usage_in_bytes")
        stat = _read(folder / "memory.stat") or ""
        room = count_group_room(limit, used, stat, "total_inactive_file")
        if room is not None:
            yield room


def _read(path: Path) -> str | None:
    """Read a control file; None where there is none: not every group has every file."""
    try:
        with path.open("rb") as file:
            return file.read(_LONGEST).decode("ascii", errors="replace")
    except OSError:
        return None
