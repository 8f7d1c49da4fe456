"""Head and tail of a stream in bounded memory. Pure: no file, no loop."""

from __future__ import annotations


class OutputRing:
    """Keeps the first and the last bytes of what it is fed and counts what fell between.

    Holds at most `head_bytes + 2 * tail_bytes` bytes, whatever the length of the stream.
    """

    def __init__(self, head_bytes: int, tail_bytes: int) -> None:
        self._head_bytes = max(head_bytes, 0)
        self._tail_bytes = max(tail_bytes, 0)
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0

    @property
    def head(self) -> bytes:
        return bytes(self._head)

    @property
    def tail(self) -> bytes:
        return bytes(self._tail[-self._tail_bytes :]) if self._tail_bytes else b""

    @property
    def total_bytes(self) -> int:
        return self._total

    @property
    def dropped_bytes(self) -> int:
        return self._total - len(self._head) - min(len(self._tail), self._tail_bytes)

    @property
    def capacity(self) -> int:
        return self._head_bytes + self._tail_bytes

    def feed(self, chunk: bytes) -> None:
        self._total += len(chunk)
        room = self._head_bytes - len(self._head)
        if room > 0:
            self._head += chunk[:room]
            chunk = chunk[room:]
        if not chunk or not self._tail_bytes:
            return
        if len(chunk) >= self._tail_bytes:
            self._tail[:] = chunk[-self._tail_bytes :]
            return
        self._tail += chunk
        # Trimmed at twice the size only, so that a byte is moved once and not once a chunk.
        if len(self._tail) > 2 * self._tail_bytes:
            del self._tail[: -self._tail_bytes]
