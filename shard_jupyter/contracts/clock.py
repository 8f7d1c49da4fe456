"""Time, as a seam: time-outs go by `monotonic`, people read `now`."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    def monotonic(self) -> float:
        """Seconds that never jump."""
        ...

    def now(self) -> datetime:
        """Wall clock, aware, UTC."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait. Cancellable."""
        ...
