"""Steering: text that is put into a running turn, or refused, and nothing in between (Shard §9.4).

A steer waits here until the next model call of the turn that it names. It can never stay behind
for a later turn: the end of the turn resolves all that wait as conflicts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import anyio

from shard_jupyter.contracts.runtime import SteerReply


@dataclass
class _Waiting:
    text: str
    settled: anyio.Event = field(default_factory=anyio.Event)
    reply: SteerReply | None = None


class SteerQueue:
    """The steers of one agent. Used on the event loop only."""

    def __init__(self) -> None:
        self._turn_id: str | None = None
        self._waiting: list[_Waiting] = []

    @property
    def has_waiting(self) -> bool:
        return bool(self._waiting)

    def open_turn(self, turn_id: str) -> None:
        self._turn_id = turn_id

    async def steer(self, turn_id: str, text: str) -> SteerReply:
        """Wait until the turn takes the text in or can no longer do so.

        Cancelling withdraws it, unless it was already taken in.
        """
        if turn_id != self._turn_id:
            return _conflict(turn_id)
        waiting = _Waiting(text)
        self._waiting.append(waiting)
        try:
            await waiting.settled.wait()
        finally:
            if waiting in self._waiting:
                self._waiting.remove(waiting)
        return waiting.reply or _conflict(turn_id)

    def drain(self, take: Callable[[str], None]) -> None:
        """Give all that wait to `take`, in order. Where it raises, nothing was taken in."""
        while self._waiting:
            take(self._waiting[0].text)
            waiting = self._waiting.pop(0)
            waiting.reply = SteerReply(status="injected", turn_id=self._turn_id or "")
            waiting.settled.set()

    def close_turn(self) -> None:
        """Refuse what waits; nothing is accepted until the next `open_turn`."""
        ended, self._turn_id = self._turn_id, None
        refused, self._waiting = self._waiting, []
        for waiting in refused:
            waiting.reply = _conflict(ended or "")
            waiting.settled.set()


def _conflict(turn_id: str) -> SteerReply:
    return SteerReply(status="conflict", turn_id=turn_id, reason="That turn is not running.")
