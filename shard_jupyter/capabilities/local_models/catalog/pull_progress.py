"""What is told while a model is fetched."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

PullPhase = Literal["ask", "copy", "download", "check", "failed"]
_PAUSE_SECONDS = 0.1


@dataclass(frozen=True)
class PullProgress:
    """Where a pull is.

    Attributes:
        phase: `ask`: a source is looked at; `check`: what lies here already is read; `failed`:
            this source gave nothing, the next one is tried.
        source: for people: a host and what is taken from it, or a path.
        total_bytes: 0: not known.
        note: with `failed`: why.
    """

    phase: PullPhase
    source: str
    done_bytes: int = 0
    total_bytes: int = 0
    note: str = ""


TellPull = Callable[[PullProgress], None]
"""Called in worker threads, never two at once, at most ten times a second and once for each phase
and source besides. What it raises ends the pull."""


class ListenerFailed(Exception):
    """Carries what a listener raised past those who look for faults of the disk."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


class ProgressMeter:
    """Passes reports on, and drops those that come too soon after another."""

    def __init__(self, tell: TellPull, clock: Callable[[], float] = time.monotonic) -> None:
        self._tell = tell
        self._clock = clock
        self._shown: tuple[str, str] | None = None
        self._shown_at = 0.0

    def report(self, progress: PullProgress) -> None:
        now = self._clock()
        kind = (progress.phase, progress.source)
        is_last = bool(progress.total_bytes) and progress.done_bytes >= progress.total_bytes
        if kind == self._shown and not is_last and now - self._shown_at < _PAUSE_SECONDS:
            return
        self._shown, self._shown_at = kind, now
        try:
            self._tell(progress)
        except OSError as error:
            raise ListenerFailed(error) from error
