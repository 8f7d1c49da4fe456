"""Which children this process has: what a test started must be gone, dead ones included."""

from __future__ import annotations

import psutil


def children() -> set[int]:
    """Ids of all descendants, zombies too. Fixtures may have some that live longer than a test."""
    return {process.pid for process in psutil.Process().children(recursive=True)}


def assert_no_new_child(before: set[int]) -> None:
    left = children() - before
    assert left == set(), [psutil.Process(pid) for pid in left if psutil.pid_exists(pid)]
