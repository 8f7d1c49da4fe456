"""How often a growing output may be sent again. Pure.

A server drops what a kernel sends past 1,000 messages a second, and every update carries the whole
output: so updates come at most ten times a second, rarer the larger they are and the longer they
take to make, and all cells of a kernel together stay under thirty a second.
"""

from __future__ import annotations

from dataclasses import dataclass

SHORTEST_SECONDS = 0.1
BYTES_PER_SECOND = 1_000_000
WORK_SHARE = 0.1
"""Of the event loop's time, at most so much goes into making updates."""
KERNEL_SECONDS = 1 / 30


@dataclass
class KernelPace:
    """Shared by all cells of a kernel. `next_at` is when the next update of any may go."""

    next_at: float = 0.0


class UpdatePace:
    """Of one output. Times are seconds of one clock."""

    def __init__(self, kernel: KernelPace) -> None:
        self._kernel = kernel
        self._next_at = 0.0

    @property
    def due_at(self) -> float:
        return max(self._next_at, self._kernel.next_at)

    def sent(self, now: float, *, size: int, work_seconds: float) -> None:
        """An update of `size` bytes went at `now`; it took `work_seconds` to make."""
        wait = max(SHORTEST_SECONDS, size / BYTES_PER_SECOND, work_seconds / WORK_SHARE)
        self._next_at = now + wait
        self._kernel.next_at = now + KERNEL_SECONDS
