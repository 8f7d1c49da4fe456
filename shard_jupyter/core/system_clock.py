"""The real clock."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import anyio


class SystemClock:
    """Implements `contracts.clock.Clock`."""

    def monotonic(self) -> float:
        return time.monotonic()

    def now(self) -> datetime:
        return datetime.now(UTC)

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds)
