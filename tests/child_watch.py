"""Which children this process has: what a test started must be gone, dead ones included."""

from __future__ import annotations

from collections.abc import Iterable

import psutil


def children() -> set[int]:
    """Ids of all descendants, zombies too. Fixtures may have some that live longer than a test."""
    return {process.pid for process in psutil.Process().children(recursive=True)}


def new_children(before: set[int]) -> list[psutil.Process]:
    return [psutil.Process(pid) for pid in children() - before]


def assert_no_new_child(before: set[int]) -> None:
    left = children() - before
    assert left == set(), [psutil.Process(pid) for pid in left if psutil.pid_exists(pid)]


def alive(processes: Iterable[psutil.Process]) -> list[psutil.Process]:
    """Those that still run. A dead orphan counts as gone: it is init's to reap."""
    return [process for process in processes if _runs(process)]


def _runs(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
