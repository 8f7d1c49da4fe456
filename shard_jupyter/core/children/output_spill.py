"""The whole of a long output, in a file. Written by a thread, never on the event loop."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

PAUSE_BYTES = 2 << 20
"""Bytes waiting to be written from which the reader should stop reading."""


class OutputSpill:
    """A file that grows to `limit` bytes. Everything but `_write` and `_close` runs on the loop.

    A write error (disk full) ends the file and marks it incomplete; the run goes on.
    """

    def __init__(self, path: Path, limit: int) -> None:
        self.path = path
        self.complete = True
        self._room = limit
        self._pending: list[bytes] = []
        self._pending_bytes = 0
        self._job: asyncio.Future[bool] | None = None
        self._job_ended = asyncio.Event()
        self._fd = -1

    @property
    def is_behind(self) -> bool:
        return self._pending_bytes >= PAUSE_BYTES

    def offer(self, chunk: bytes) -> None:
        """Queue bytes; what passes the limit is dropped and the file counts as incomplete."""
        if len(chunk) > self._room:
            self.complete = False
            chunk = chunk[: self._room]
        self._room -= len(chunk)
        if chunk:
            self._pending.append(chunk)
            self._pending_bytes += len(chunk)
            self._start_job()

    async def wait_for_room(self) -> None:
        """Return when the thread has caught up."""
        while self.is_behind:
            await self._wait_for_job()

    async def aclose(self) -> None:
        while self._job is not None:
            await self._wait_for_job()
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            await asyncio.get_running_loop().run_in_executor(None, os.close, fd)

    async def _wait_for_job(self) -> None:
        # Not for the future itself: it may be done while `_end_job` has yet to run.
        self._job_ended.clear()
        await self._job_ended.wait()

    def _start_job(self) -> None:
        if self._job is None:
            batch, self._pending, self._pending_bytes = self._pending, [], 0
            self._job = asyncio.get_running_loop().run_in_executor(None, self._write, batch)
            self._job.add_done_callback(self._end_job)

    def _end_job(self, job: asyncio.Future[bool]) -> None:
        self._job = None
        self._job_ended.set()
        if not job.result():
            self.complete, self._room = False, 0
            self._pending, self._pending_bytes = [], 0
        elif self._pending:
            self._start_job()

    def _write(self, batch: list[bytes]) -> bool:
        """Runs in a thread. False: the disk refused."""
        try:
            if self._fd < 0:
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
                self._fd = os.open(self.path, flags, 0o600)
            for chunk in batch:
                view = memoryview(chunk)
                while view:
                    view = view[os.write(self._fd, view) :]
        except OSError:
            return False
        return True
