"""A program that holds a server of a fake engine, prints its process id, and ends as told."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from shard_jupyter.capabilities.local_models.engines.engine import Engine
from shard_jupyter.capabilities.local_models.engines.find_engine import find_engine
from tests.fakes.fake_engine import (
    FakeEngine,
    FakeLlamaServer,
    ignore,
    make_spec,
    places_in,
    pool_of,
)


def make_engine(folder: Path, name: str) -> Engine:
    if name == "program":
        return FakeLlamaServer(folder)
    return FakeEngine() if name == "package" else find_engine(name, "", {})


async def hold(folder: Path, engine: str, end: str) -> None:
    pool = pool_of(make_engine(folder, engine))
    lease = await pool.acquire(make_spec(folder), ignore, places=places_in(folder))
    print(lease.server_pid, flush=True)
    if end == "fork":
        copy = os.fork()
        if copy == 0:
            await lease.release()
            pool.close()
            os._exit(0)
        await asyncio.to_thread(os.waitpid, copy, 0)
        print("up" if await lease.is_up() else "down", flush=True)
    if end != "exit":
        sys.stdin.buffer.read(1)


if __name__ == "__main__":
    asyncio.run(hold(Path(sys.argv[1]), sys.argv[2], sys.argv[3]))
