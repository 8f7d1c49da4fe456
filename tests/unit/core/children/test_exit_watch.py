from __future__ import annotations

import os

import anyio
import pytest

from shard_jupyter.core.children.exit_watch import watch_by_descriptor, watch_by_thread

pytestmark = pytest.mark.proves("A05")


def by_thread(pid, on_exit):
    return watch_by_thread(lambda: os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT), on_exit)


WATCHES = [by_thread] + [watch_by_descriptor] * hasattr(os, "pidfd_open")


async def start(*argv: str) -> int:
    return await anyio.to_thread.run_sync(lambda: os.posix_spawnp(argv[0], argv, dict(os.environ)))


@pytest.mark.parametrize("watch", WATCHES)
async def test_exit_is_reported_once_and_left_to_be_reaped(watch):
    pid = await start("sh", "-c", "exit 5")
    exited = anyio.Event()
    with anyio.fail_after(5):
        watch(pid, exited.set)
        await exited.wait()
    _, status = await anyio.to_thread.run_sync(os.waitpid, pid, os.WNOHANG)
    assert os.waitstatus_to_exitcode(status) == 5


@pytest.mark.parametrize("watch", WATCHES)
async def test_stopped_watch_says_nothing(watch):
    pid = await start("sleep", "60")
    heard: list[int] = []
    stop = watch(pid, lambda: heard.append(1))
    stop()
    stop()
    other = await start("true")
    exited = anyio.Event()
    with anyio.fail_after(5):
        os.kill(pid, 9)
        watch(other, exited.set)
        await exited.wait()
        await anyio.to_thread.run_sync(os.waitpid, pid, 0)
        await anyio.to_thread.run_sync(os.waitpid, other, 0)
    assert heard == []
