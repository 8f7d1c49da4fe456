"""End every process of a run: ask, then kill, then look again until nobody is left."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from contextlib import suppress

import anyio
import psutil

from shard_jupyter.core.children.process_tree import Member, RunMark, find_members

GRACE_SECONDS = 0.4
"""Between asking to end (TERM) and ending (KILL)."""
BUDGET_SECONDS = 1.6
"""After that a process that cannot be killed (waiting inside the kernel) is left behind."""

LAST_ROUNDS = 20


async def end_members(mark: RunMark) -> tuple[Member, ...]:
    """Return who was still alive. Shielded by the caller; takes at most `BUDGET_SECONDS`."""
    try:
        return await _end_in_time(mark)
    except asyncio.CancelledError:
        # Nothing shields from a loop that is going down: it cancels every task. Last chance.
        kill_members(mark)
        raise


async def _end_in_time(mark: RunMark) -> tuple[Member, ...]:
    alive = await _look(mark)
    if not alive:
        return ()
    ended = {member.pid: member for member in alive}
    with anyio.move_on_after(GRACE_SECONDS):
        await _signal_until_gone(mark, alive, signal.SIGTERM, ended)
        return tuple(ended.values())
    with anyio.move_on_after(BUDGET_SECONDS - GRACE_SECONDS):
        await _signal_until_gone(mark, await _look(mark), signal.SIGKILL, ended)
    return tuple(ended.values())


async def _signal_until_gone(
    mark: RunMark, alive: list[Member], number: signal.Signals, ended: dict[int, Member]
) -> None:
    """Signal everybody found; who is found later was forked meanwhile and is signalled too."""
    pause = 0.002
    signalled: set[int] = set()
    while alive:
        new = [member for member in alive if member.pid not in signalled]
        if new or number is signal.SIGKILL:
            _signal(mark, alive if number is signal.SIGKILL else new, number)
            signalled.update(member.pid for member in new)
            ended.update({member.pid: member for member in new})
        await anyio.sleep(pause)
        pause = min(pause * 2, 0.05)
        alive = await _look(mark)


def kill_members(mark: RunMark) -> None:
    """Kill all that is left of a run, without an event loop. Blocks for some milliseconds."""
    for _ in range(LAST_ROUNDS):
        alive = find_members(mark)
        if not alive:
            return
        _signal(mark, alive, signal.SIGKILL)


def _signal(mark: RunMark, members: list[Member], number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        if any(_in_group(member.pid, mark.root) for member in members):
            os.killpg(mark.root, number)
    for member in members:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(member.pid, number)


def _in_group(pid: int, group: int) -> bool:
    with suppress(ProcessLookupError):
        return os.getpgid(pid) == group
    return False


async def _look(mark: RunMark) -> list[Member]:
    return await anyio.to_thread.run_sync(find_members, mark)


def kill_all_descendants() -> None:
    """Kill whatever this process has started, at once: for a process that is about to leave.

    Blocks for a moment only; waits for nobody.
    """
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            child.kill()
