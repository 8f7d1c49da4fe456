"""The last of what a child writes, read by a thread of its own so that the child never waits."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

RING_BYTES = 16_384
_LONGEST_LINE = 4096


class LogRing:
    """Owns `fd`, the end of a pipe that is read. Everything may be called from any thread."""

    def __init__(self, fd: int, on_line: Callable[[bytes], None] | None = None) -> None:
        """Begin to read. `on_line` is called by the thread that reads; long lines are cut."""
        self._fd = fd
        self._on_line = on_line
        self._kept = bytearray()
        self._line = bytearray()
        self._at_end: list[Callable[[], None]] = []
        self._is_over = False
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._drain, name="shard-server-log", daemon=True)
        self._thread.start()

    @property
    def tail(self) -> bytes:
        with self._lock:
            return bytes(self._kept)

    def join(self, timeout_seconds: float) -> None:
        """Wait until all was read that the child has written; a descendant may hold the pipe."""
        self._thread.join(timeout_seconds)

    def call_at_end(self, call: Callable[[], None]) -> None:
        """Call it when nobody can write any more, from the thread that reads; or now."""
        with self._lock:
            if not self._is_over:
                self._at_end.append(call)
                return
        call()

    def _drain(self) -> None:
        try:
            while chunk := os.read(self._fd, 65_536):
                with self._lock:
                    self._kept += chunk
                    del self._kept[:-RING_BYTES]
                if self._on_line is not None:
                    self._split(chunk, self._on_line)
        finally:
            os.close(self._fd)
            with self._lock:
                self._is_over = True
                calls = list(self._at_end)
            for call in calls:
                call()

    def _split(self, chunk: bytes, on_line: Callable[[bytes], None]) -> None:
        *whole, rest = chunk.split(b"\n")
        for end in whole:
            self._line += end[:_LONGEST_LINE]
            on_line(bytes(self._line[:_LONGEST_LINE]))
            self._line.clear()
        self._line += rest[:_LONGEST_LINE]
        del self._line[_LONGEST_LINE:]
