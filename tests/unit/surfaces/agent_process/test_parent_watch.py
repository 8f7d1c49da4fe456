"""The death of the parent is noticed: at once where the system tells, else by looking."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
pytestmark = pytest.mark.proves("B01")
WATCHER = """
import asyncio, os, sys
from shard_jupyter.surfaces.agent_process import parent_watch
WAY, PARENT = sys.argv[1], int(sys.argv[2])
parent_watch.LOOK_SECONDS = 0.05
async def main():
    gone = asyncio.Event()
    watch = parent_watch.watch_by_looking if WAY == "looking" else parent_watch.watch_parent
    stop = watch(PARENT, gone.set)
    print("watching", flush=True)
    await gone.wait()
    stop()
    stop()
    print("gone", flush=True)
asyncio.run(main())
"""
STARTER = """
import os, subprocess, sys
parent = sys.argv[3] if len(sys.argv) > 3 else str(os.getpid())
subprocess.Popen([sys.executable, "-c", sys.argv[1], sys.argv[2], parent])
sys.stdin.read()
"""


@pytest.mark.parametrize("way", ["looking", "descriptor"])
def test_the_death_of_the_parent_is_noticed(way: str) -> None:
    with start(way) as starter:
        assert starter.stdout
        assert starter.stdout.readline() == b"watching\n"
        os.kill(starter.pid, signal.SIGKILL)
        assert starter.stdout.readline() == b"gone\n"


@pytest.mark.parametrize("way", ["looking", "descriptor"])
def test_a_parent_that_has_gone_before_counts_as_gone(way: str) -> None:
    with start(way, "1") as starter:  # what it was told is not who its parent is
        assert starter.stdout
        assert starter.stdout.read(14) == b"watching\ngone\n"


def start(way: str, *parent: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", STARTER, WATCHER, way, *parent],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
