from __future__ import annotations

import os
import resource
import subprocess
import sys
import time

import psutil
import pytest

from shard_jupyter.core.children.process_tree import (
    ADOPTION,
    MARKER,
    RunMark,
    find_members,
    tagged,
)

pytestmark = pytest.mark.proves("A05", "H4f.57")

NOBODY = 2**22 - 1


def spawn(marker: str = "", limit_tag: bool = False) -> tuple[int, int | None]:
    environment = {**os.environ, MARKER: f"outer {marker}"} if marker else dict(os.environ)
    argv = ["sleep", "60"]
    with tagged() as tag:
        pid = os.posix_spawnp("sleep", argv, environment, setsid=True)
    # The spawn returns a moment before the new program's environment can be read.
    while psutil.Process(pid).cmdline() != argv:
        time.sleep(0.001)
    return pid, tag if limit_tag else None


def end(pid: int) -> None:
    os.kill(pid, 9)
    os.waitpid(pid, 0)


def test_marked_process_is_found_where_orphans_are_not_adopted():
    # The way of systems without subreaper and prlimit, such as macOS.
    assert not ADOPTION.is_on
    pid, _ = spawn(marker="call-x1")
    stranger, _ = spawn()
    try:
        members = find_members(RunMark(NOBODY, "call-x1", None))
        assert [(m.pid, m.name) for m in members] == [(pid, "sleep 60")]
    finally:
        end(pid)
        end(stranger)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs prlimit")
def test_label_is_found_without_any_marker():
    pid, tag = spawn(limit_tag=True)
    ADOPTION.begin()
    try:
        assert [m.pid for m in find_members(RunMark(NOBODY, "call-none", tag))] == [pid]
        assert find_members(RunMark(NOBODY, "call-none", (tag or 0) + 1)) == []
    finally:
        ADOPTION.end()
        end(pid)


def test_labels_differ_and_our_own_limit_stays():
    before = resource.getrlimit(resource.RLIMIT_MSGQUEUE)
    tags = []
    for _ in range(100):
        with tagged() as tag:
            tags.append(tag)
    assert len(set(tags)) == 100
    assert resource.getrlimit(resource.RLIMIT_MSGQUEUE) == before
    assert before[0] not in tags


def test_having_no_child_is_noticed():
    """In a process of its own: this one may have children of other tests' fixtures."""
    script = (
        "import subprocess\n"
        "from shard_jupyter.core.children.process_tree import has_no_child\n"
        "before = has_no_child()\n"
        "child = subprocess.Popen(['sleep', '60'])\n"
        "during = has_no_child()\n"
        "child.kill(); child.wait()\n"
        "print(before, during, has_no_child())\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert done.stdout.split() == [b"True", b"False", b"True"]


def test_adoption_ends_with_the_last_run():
    ADOPTION.begin()
    ADOPTION.begin()
    ADOPTION.end()
    assert ADOPTION.is_on == sys.platform.startswith("linux")
    ADOPTION.end()
    assert not ADOPTION.is_on
