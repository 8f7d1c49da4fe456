"""How many cores may be used: what the system allows, and what a control group leaves of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from shard_jupyter.capabilities.local_models.servers import usable_cores
from shard_jupyter.capabilities.local_models.servers.usable_cores import (
    count_server_threads,
    count_usable_cores,
    find_quotas,
    parse_cfs,
    parse_cpu_max,
)

pytestmark = pytest.mark.proves("A13", "L5.threads")


@pytest.mark.parametrize(
    ("text", "cores"),
    [("200000 100000\n", 2.0), ("50000 100000", 0.5), ("max 100000\n", None), ("", None),
     ("1 0", None), ("x y", None)],
)  # fmt: skip
def test_a_quota_of_version_two_is_read(text: str, cores: float | None) -> None:
    assert parse_cpu_max(text) == cores


@pytest.mark.parametrize(
    ("quota", "period", "cores"),
    [("150000\n", "100000\n", 1.5), ("-1\n", "100000\n", None), ("", "", None)],
)
def test_a_quota_of_version_one_is_read(quota: str, period: str, cores: float | None) -> None:
    assert parse_cfs(quota, period) == cores


def test_the_quota_of_every_group_around_counts(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.write_bytes(b"0::/a/b\n")
    root = tmp_path / "root"
    (root / "a" / "b").mkdir(parents=True)
    (root / "a" / "b" / "cpu.max").write_bytes(b"max 100000\n")
    (root / "a" / "cpu.max").write_bytes(b"300000 100000\n")
    assert list(find_quotas(own, root)) == [3.0]


def test_inside_a_container_the_root_holds_the_quota(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.write_bytes(b"0::/../../docker/x\n")
    (tmp_path / "cpu.max").write_bytes(b"100000 100000\n")
    assert list(find_quotas(own, tmp_path)) == [1.0]


def test_version_one_has_a_folder_of_its_own(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.write_bytes(b"5:memory:/m\n4:cpu,cpuacct:/j\n")
    group = tmp_path / "cpu" / "j"
    group.mkdir(parents=True)
    (group / "cpu.cfs_quota_us").write_bytes(b"200000\n")
    (group / "cpu.cfs_period_us").write_bytes(b"100000\n")
    assert list(find_quotas(own, tmp_path)) == [2.0]


def test_without_control_groups_there_is_no_quota(tmp_path: Path) -> None:
    assert list(find_quotas(tmp_path / "none", tmp_path)) == []


@pytest.mark.parametrize(("cores", "threads"), [(1, 1), (2, 1), (8, 7)])
def test_one_core_is_left_to_everything_else(
    cores: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(usable_cores, "_count_allowed", lambda: cores)
    monkeypatch.setattr(usable_cores, "find_quotas", lambda: iter(()))
    assert count_server_threads() == threads


def test_a_small_quota_wins_over_many_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usable_cores, "_count_allowed", lambda: 64)
    monkeypatch.setattr(usable_cores, "find_quotas", lambda: iter((2.5, 8.0)))
    assert count_usable_cores() == 2
    monkeypatch.setattr(usable_cores, "find_quotas", lambda: iter((0.5,)))
    assert count_usable_cores() == 1
