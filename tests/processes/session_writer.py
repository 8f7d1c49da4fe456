"""A process that writes a session, for tests that kill it. Run with `-m`; says on stdout what it did.

Everything it says is one JSON object a line, written with one system call.
"""

from __future__ import annotations

import json
import os
import random
import resource
import sys
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from shard_jupyter.errors import SessionNotFound, StorePoisoned, WriterBusy
from shard_jupyter.store.group_commit import Commit
from shard_jupyter.store.session_log import SessionLog
from shard_jupyter.types.content import ToolCallBlock
from tests.entry_builders import assistant, header, intent, result, user


def say(**fields: Any) -> None:
    os.write(1, json.dumps(fields).encode() + b"\n")


async def wait_for_line() -> bytes:
    return await anyio.to_thread.run_sync(sys.stdin.buffer.readline)


class Numbered:
    """Appends entries `e0`, `e1`, …, each the child of the one before."""

    def __init__(self, log: SessionLog) -> None:
        self._log = log
        self._next = len(log.entries) - 1
        self._pending: list[tuple[int, Commit]] = []

    def append(self, make: Any, *arguments: Any) -> None:
        entry = make(f"e{self._next}", self._log.leaf_id, *arguments)
        self._pending.append((self._next, self._log.append(entry)))
        self._next += 1

    async def acknowledge(self) -> None:
        for number, commit in self._pending:
            await commit.wait()
            say(acked=number)
        self._pending.clear()


async def open_or_create(path: Path) -> SessionLog:
    try:
        return await SessionLog.open(path)
    except SessionNotFound:
        return await SessionLog.create(path, header())


async def write_turns(path: Path, seed: str) -> None:
    """Write turns of three parallel calls until killed."""
    dice = random.Random(seed)
    log = await open_or_create(path)
    entries = Numbered(log)
    turn = len(log.entries)
    while True:
        turn += 1
        calls = tuple(f"c{turn}-{number}" for number in range(3))
        entries.append(user, "prompt " * dice.choice([1, 10, 8000]))
        await entries.acknowledge()
        entries.append(assistant, "é" * dice.choice([1, 100, 30_000]), calls)
        for call in calls:
            entries.append(intent, call)
        await entries.acknowledge()
        for call in calls:
            entries.append(result, call, "output\n" * dice.choice([1, 50, 9000, 20_000]))
        await entries.acknowledge()


def heavy_call(own: str, parent: str | None, size: int) -> Any:
    """A call with long arguments, which stay in the log: one line of `size` bytes."""
    call = ToolCallBlock(call_id=f"c-{own}", name="write", arguments={"content": "é" * (size // 2)})
    return assistant(own, parent, "x").model_copy(update={"content": (call,)})


async def write_heavy(path: Path, seed: str) -> None:
    """Write lines so long that a kill often comes in the middle of one."""
    dice = random.Random(seed)
    entries = Numbered(await open_or_create(path))
    while True:
        entries.append(user, "next")
        entries.append(heavy_call, dice.choice([2, 4, 8]) << 20)
        await entries.acknowledge()


async def fill_disk(path: Path, limit: str) -> None:
    """Write under a limit of file size, then lift it and open the session again."""
    log = await SessionLog.create(path, header())
    entries = Numbered(log)
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), hard))
    try:
        while True:
            entries.append(user, "x" * 3000)
            await entries.acknowledge()
    except StorePoisoned as error:
        say(error=type(error).__name__, code=error.code, text=str(error))
    try:
        log.append(user("late", None))
    except StorePoisoned as error:
        say(late=type(error).__name__)
    await log.aclose()
    say(size=path.stat().st_size)
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    again = await SessionLog.open(path)
    entries = Numbered(again)
    say(reopened=len(again.entries) - 1, findings=[f.kind for f in again.report.findings])
    entries.append(user, "room again")
    await entries.acknowledge()
    await again.aclose()


async def race(path: Path) -> None:
    """Open at a word; say who won; hold until the next word."""
    say(ready=os.getpid())
    await wait_for_line()
    try:
        log = await SessionLog.open(path)
    except WriterBusy as error:
        say(busy=error.owner)
        return
    say(opened=os.getpid())
    await wait_for_line()
    await log.aclose()


async def hold_and_fork(path: Path) -> None:
    """Hold the session, with a forked child beside that does nothing with it."""
    log = await SessionLog.open(path)
    if os.fork() == 0:
        say(child=os.getpid())
        os.read(0, 1)
        os._exit(0)
    say(opened=os.getpid())
    await anyio.sleep_forever()
    await log.aclose()


MODES: dict[str, Any] = {
    "turns": write_turns,
    "heavy": write_heavy,
    "fill": fill_disk,
    "race": race,
    "fork": hold_and_fork,
}


async def main() -> None:
    await MODES[sys.argv[1]](Path(sys.argv[2]), *sys.argv[3:])


if __name__ == "__main__":
    anyio.run(main)
