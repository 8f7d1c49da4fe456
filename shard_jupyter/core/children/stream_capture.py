"""Reads one pipe of a child: into a ring, into a file when it is long, to a listener."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from shard_jupyter.contracts.process_runner import CapturedOutput, OutputListener
from shard_jupyter.core.children.output_ring import OutputRing
from shard_jupyter.core.children.output_spill import OutputSpill

READ_BYTES = 1 << 16
"""The size of a Linux pipe: one read empties it."""


class StreamCapture:
    """Owns the read end `fd` from the moment it is made until `aclose`."""

    def __init__(
        self,
        fd: int,
        ring: OutputRing,
        spill: OutputSpill | None,
        on_output: OutputListener | None,
    ) -> None:
        self._fd = fd
        self._ring = ring
        self._spill = spill
        self._on_output = on_output
        self._loop = asyncio.get_running_loop()
        self._resuming: asyncio.Task[None] | None = None
        self.ended = asyncio.Event()
        """Set when nobody holds the write end any more."""
        os.set_blocking(fd, False)
        self._loop.add_reader(fd, self._read_some)

    def drain(self, limit_bytes: int) -> None:
        """Read what lies in the pipe now; bounded, because a survivor may go on writing."""
        while limit_bytes > 0 and not self.ended.is_set():
            size = self._read_some()
            if size == 0:
                return
            limit_bytes -= size

    async def aclose(self) -> CapturedOutput:
        """Close our end, finish the file, and say what was kept."""
        self._loop.remove_reader(self._fd)
        if self._resuming is not None:
            self._resuming.cancel()
        os.close(self._fd)
        spilled = self._spill if self._has_spilled else None
        if spilled is not None:
            await spilled.aclose()
        return CapturedOutput(
            head=self._ring.head,
            tail=self._ring.tail,
            dropped_bytes=self._ring.dropped_bytes,
            spill_path=spilled.path if spilled is not None else None,
            spill_complete=spilled is None or spilled.complete,
        )

    @property
    def _has_spilled(self) -> bool:
        return self._spill is not None and self._ring.total_bytes > self._ring.capacity

    def _read_some(self) -> int:
        try:
            chunk = os.read(self._fd, READ_BYTES)
        except BlockingIOError:
            return 0
        if not chunk:
            self._loop.remove_reader(self._fd)
            self.ended.set()
            return 0
        self._keep(chunk)
        if self._on_output is not None:
            self._on_output(chunk)
        return len(chunk)

    def _keep(self, chunk: bytes) -> None:
        if self._spill is not None:
            if self._has_spilled:
                self._spill.offer(chunk)
            elif self._ring.total_bytes + len(chunk) > self._ring.capacity:
                # Until now the ring held everything, so it is the start of the file.
                self._spill.offer(self._ring.head + self._ring.tail + chunk)
            if self._spill.is_behind and self._resuming is None:
                self._loop.remove_reader(self._fd)
                self._resuming = self._loop.create_task(self._resume())
        self._ring.feed(chunk)

    async def _resume(self) -> None:
        if self._spill is not None:
            await self._spill.wait_for_room()
        self._resuming = None
        self._loop.add_reader(self._fd, self._read_some)


def spill_for(path: Path | None, limit: int, suffix: str = "") -> OutputSpill | None:
    """A file for one stream; `suffix` keeps the two streams of a child apart."""
    return None if path is None else OutputSpill(Path(f"{path}{suffix}"), limit)
