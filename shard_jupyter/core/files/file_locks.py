"""One change of a file at a time (harness row 53: parallel edits that lose one another)."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio


class FileLocks:
    """Locks by real path, in the order of asking. One instance serves one event loop.

    The first ticket of a path's queue is the one whose event is set; a queue exists only while
    somebody stands in it.
    """

    def __init__(self) -> None:
        self._asking = anyio.Lock()
        self._queues: dict[str, deque[anyio.Event]] = {}

    @asynccontextmanager
    async def hold(self, path: Path) -> AsyncIterator[None]:
        ticket = anyio.Event()
        async with self._asking:  # the look at the disk must not change the order of asking
            # Two spellings or links of one file meet in one queue.
            real = await anyio.to_thread.run_sync(os.path.realpath, path)
            queue = self._queues.setdefault(real, deque())
            queue.append(ticket)
        try:
            queue[0].set()
            await ticket.wait()
            yield
        finally:
            queue.remove(ticket)
            if queue:
                queue[0].set()
            else:
                del self._queues[real]
