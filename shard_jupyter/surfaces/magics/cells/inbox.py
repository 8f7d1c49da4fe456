"""What happens to a cell while it runs, put in one queue from any thread, and threads that fill it."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_MOST_AT_ONCE = 500


@dataclass(frozen=True)
class Press:
    """The kernel was interrupted."""


@dataclass(frozen=True)
class Ended:
    """A call that was started with `Inbox.start` has come back, or has raised."""

    key: str
    value: Any = None
    error: BaseException | None = None


class Inbox:
    """Belongs to the event loop on which it was made; only `take` must be called there."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._items: deque[object] = deque()
        self._filled = asyncio.Event()
        self._is_waking = False

    def put(self, item: object) -> None:
        """Add an item; from any thread and from a signal handler, so there is no lock here.

        The loop is woken once for many items. The flag is cleared before the items are taken:
        who finds it set knows that they are still to be taken.
        """
        self._items.append(item)
        if not self._is_waking:
            self._is_waking = True
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody takes any more
                self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        self._is_waking = False
        self._filled.set()

    async def take(self, timeout_seconds: float | None = None) -> tuple[object, ...]:
        """Wait for items and return some; none when the time is over. Can be cancelled."""
        if self._items:
            await asyncio.sleep(0)  # a flood must leave the loop to others too
        else:
            self._filled.clear()
            if not self._items:
                await self._wait(timeout_seconds)
        count = min(len(self._items), _MOST_AT_ONCE)
        return tuple(self._items.popleft() for _ in range(count))

    async def _wait(self, timeout_seconds: float | None) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_seconds):
                await self._filled.wait()

    def start(self, key: str, call: Callable[[], object]) -> threading.Thread:
        """Run a blocking call in a thread of its own; `Ended` comes when it is over.

        A daemon, because nothing that an interrupted cell has left behind may hold up the end of
        the kernel.
        """
        context = contextvars.copy_context()

        def run() -> None:
            try:
                ended = Ended(key, value=context.run(call))
            except BaseException as error:  # noqa: BLE001 - raised again where it is awaited
                ended = Ended(key, error=error)
            self.put(ended)

        thread = threading.Thread(target=run, name=f"shard-{key}", daemon=True)
        thread.start()
        return thread
