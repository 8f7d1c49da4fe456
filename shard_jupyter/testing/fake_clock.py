"""A clock that moves only when told to."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import anyio
import anyio.lowlevel


class FakeClock:
    """Implements `contracts.clock.Clock`.

    With `runs_ahead` a sleep returns at once and moves the clock, else `advance` does. `slept`
    holds the length of every sleep that was begun.
    """

    def __init__(
        self,
        start: datetime = datetime(2030, 1, 1, tzinfo=UTC),
        *,
        runs_ahead: bool = False,
    ) -> None:
        self._start = start
        self._runs_ahead = runs_ahead
        self._elapsed = 0.0
        self._sleepers: list[tuple[float, anyio.Event]] = []
        self._began = anyio.Event()
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self._elapsed

    def now(self) -> datetime:
        return self._start + timedelta(seconds=self._elapsed)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self._began.set()
        if self._runs_ahead:
            self.advance(seconds)
        if seconds <= 0 or self._runs_ahead:
            await anyio.lowlevel.checkpoint()
            return
        entry = (self._elapsed + seconds, anyio.Event())
        self._sleepers.append(entry)
        try:
            await entry[1].wait()
        finally:
            if entry in self._sleepers:
                self._sleepers.remove(entry)

    def advance(self, seconds: float) -> None:
        """Move on and wake every sleeper whose time has come, the earliest first."""
        self._elapsed += seconds
        due = sorted(
            (entry for entry in self._sleepers if entry[0] <= self._elapsed), key=lambda e: e[0]
        )
        for entry in due:
            self._sleepers.remove(entry)
            entry[1].set()

    async def wait_for_sleeps(self, count: int) -> None:
        """Return as soon as `count` sleeps have begun since the clock was made."""
        while len(self.slept) < count:
            self._began = anyio.Event()
            await self._began.wait()
