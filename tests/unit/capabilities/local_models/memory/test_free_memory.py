"""What can be used is what the machine and every control group around us leave."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from shard_jupyter.capabilities.local_models.memory.free_memory import (
    count_group_room,
    find_available_memory,
    list_group_folders,
    parse_group_path,
    parse_mem_available,
    parse_number,
)

pytestmark = pytest.mark.proves("C10", "L3.available")
GIB = 1 << 30
MEMINFO = (
    "MemTotal:       24689764 kB\nMemFree:         1000 kB\nMemAvailable:   20971520 kB\nX: 1\n"
)
V1_GROUPS = "9:name=systemd:/\n4:cpu,memory:/box/inner\n0::/\n"
V1_UNLIMITED = "9223372036854771712\n"


def write_root(root: Path, files: dict[str, str]) -> Path:
    for name, content in {"proc/meminfo": MEMINFO, **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="ascii")
    return root


def test_machine_without_groups_has_what_it_says_less_a_reserve(tmp_path: Path) -> None:
    assert find_available_memory(write_root(tmp_path, {})) == 19 * GIB


def test_group_of_version_2_limits_with_what_it_uses(tmp_path: Path) -> None:
    base = "sys/fs/cgroup/user.slice/run.scope/"
    files = {
        "proc/self/cgroup": "0::/user.slice/run.scope\n",
        f"{base}memory.max": f"{8 * GIB}\n",
        f"{base}memory.current": f"{3 * GIB}\n",
        f"{base}memory.stat": f"anon 5\ninactive_file {GIB}\nactive_file 7\n",
    }
    assert find_available_memory(write_root(tmp_path, files)) == (8 - 3 + 1 - 1) * GIB


def test_groups_around_ours_limit_too(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "0::/a/b/c\n",
        "sys/fs/cgroup/a/b/c/memory.max": "max\n",
        "sys/fs/cgroup/a/memory.max": f"{4 * GIB}\n",
        "sys/fs/cgroup/a/memory.current": f"{GIB}\n",
        "sys/fs/cgroup/a/b/memory.high": f"{6 * GIB}\n",
    }
    assert find_available_memory(write_root(tmp_path, files)) == 2 * GIB


def test_group_that_is_slowed_down_before_its_limit_counts_with_that(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "0::/a\n",
        "sys/fs/cgroup/a/memory.max": f"{9 * GIB}\n",
        "sys/fs/cgroup/a/memory.high": f"{5 * GIB}\n",
    }
    assert find_available_memory(write_root(tmp_path, files)) == 4 * GIB


def test_container_sees_its_own_group_at_the_root(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "0::/\n",
        "sys/fs/cgroup/memory.max": f"{2 * GIB}\n",
        "sys/fs/cgroup/memory.current": "0\n",
    }
    assert find_available_memory(write_root(tmp_path, files)) == GIB


def test_group_of_version_1_limits(tmp_path: Path) -> None:
    base = "sys/fs/cgroup/memory/box/"
    files = {
        "proc/self/cgroup": V1_GROUPS,
        "sys/fs/cgroup/memory/memory.limit_in_bytes": V1_UNLIMITED,
        f"{base}inner/memory.limit_in_bytes": V1_UNLIMITED,
        f"{base}memory.limit_in_bytes": f"{6 * GIB}\n",
        f"{base}memory.usage_in_bytes": f"{4 * GIB}\n",
        f"{base}memory.stat": f"inactive_file 1\ntotal_inactive_file {GIB}\n",
    }
    assert find_available_memory(write_root(tmp_path, files)) == 2 * GIB


def test_container_of_version_1_whose_path_is_the_hosts_uses_the_root(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "4:memory:/docker/0123\n",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": f"{3 * GIB}\n",
        "sys/fs/cgroup/memory/memory.usage_in_bytes": f"{GIB}\n",
    }
    assert find_available_memory(write_root(tmp_path, files)) == GIB


def test_full_group_leaves_nothing_and_never_less(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "0::/\n",
        "sys/fs/cgroup/memory.max": f"{GIB}\n",
        "sys/fs/cgroup/memory.current": f"{2 * GIB}\n",
    }
    assert find_available_memory(write_root(tmp_path, files)) == 0


def test_system_without_proc_is_asked_by_its_own_way(tmp_path: Path) -> None:
    found = find_available_memory(tmp_path)
    assert 0 <= found <= psutil.virtual_memory().total


def test_this_machine_answers() -> None:
    assert 0 <= find_available_memory() <= psutil.virtual_memory().total


@pytest.mark.parametrize(
    ("meminfo", "expected"),
    [
        (MEMINFO, 20 * GIB),
        ("MemAvailable: 7 kB", 7168),
        ("MemTotal: 7 kB\n", None),
        ("MemAvailable: x kB\n", None),
        ("MemAvailable: 7 MB\n", None),
        ("", None),
    ],
)
def test_meminfo_is_read_in_kib_or_not_at_all(meminfo: str, expected: int | None) -> None:
    assert parse_mem_available(meminfo) == expected


@pytest.mark.parametrize(
    ("groups", "controller", "expected"),
    [
        ("0::/a b:c\n", "", "/a b:c"),
        (V1_GROUPS, "memory", "/box/inner"),
        (V1_GROUPS, "", "/"),
        ("9:name=systemd:/x\n", "", None),
        ("1:memory2:/x\n", "memory", None),
        ("0::relative\n", "", None),
        ("5::/x\n", "", None),
        ("rubbish\n::\n", "", None),
        ("", "memory", None),
    ],
)
def test_own_group_is_found(groups: str, controller: str, expected: str | None) -> None:
    assert parse_group_path(groups, controller) == expected


def test_groups_are_listed_from_the_inside_out() -> None:
    base = Path("/base")
    assert list(list_group_folders(base, "/a/b")) == [base / "a/b", base / "a", base]
    assert list(list_group_folders(base, "/")) == [base]
    assert list(list_group_folders(base, "/../../other")) == [base]


@pytest.mark.parametrize(
    ("limit", "used", "stat", "expected"),
    [
        ("100", "30", "", 70),
        ("100", "30", "inactive_file 20\n", 90),
        ("100", "30", "inactive_file 50\n", 100),
        ("100", "130", "", 0),
        ("100", None, "", 100),
        ("max", "30", "", None),
        (None, "30", "", None),
    ],
)
def test_room_of_a_group(limit: str | None, used: str | None, stat: str, expected: int) -> None:
    assert count_group_room(limit, used, stat, "inactive_file") == expected


@pytest.mark.parametrize("word", ["max", "-1", "", "1.5", "²", "0x10"])
def test_what_is_no_plain_number_is_no_limit(word: str) -> None:
    assert parse_number(word) is None
