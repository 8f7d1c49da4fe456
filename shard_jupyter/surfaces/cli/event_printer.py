"""A thread that shows events, so that a slow terminal or a full pipe never holds up the agent.

Events are shown in the order in which they were put. Once the output cannot be written any more
(nobody reads the pipe), `on_broken` is called, from this thread, and the rest is dropped. Behind an
output that stands still, deltas are dropped; `message_complete` brings their text again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue

from shard_jupyter.errors import UserError
from shard_jupyter.surfaces.cli.exit_codes import is_reader_gone
from shard_jupyter.surfaces.cli.run_view import RunView
from shard_jupyter.types.events import EPHEMERAL, AgentEvent
from shard_jupyter.types.turns import TurnResult

_Task = Callable[[], None]
MAX_WAITING = 10_000
"""Events that may wait before ephemeral ones are dropped."""


class EventPrinter:
    """Owns the view: nothing else may write while it runs, but while it is held."""

    def __init__(self, view: RunView, on_broken: _Task) -> None:
        self._view = view
        self._on_broken = on_broken
        self._tasks: SimpleQueue[_Task | None] = SimpleQueue()
        self._fault: Exception | None = None
        # A daemon: a second Ctrl-C must be able to leave while a pipe is full.
        self._thread = threading.Thread(target=self._run, name="event-printer", daemon=True)
        self._thread.start()

    def put(self, event: AgentEvent) -> None:
        """Show an event soon; returns at once."""
        if self._tasks.qsize() >= MAX_WAITING and getattr(event, "type", "") in EPHEMERAL:
            return
        self._tasks.put(lambda: self._write(lambda: self._view.show(event)))

    def hold(self) -> threading.Event:
        """Show what was put so far, then nothing until the returned event is set. Blocks."""
        reached, released = threading.Event(), threading.Event()

        def wait() -> None:
            self._write(self._view.flush)
            reached.set()
            released.wait()

        self._tasks.put(wait)
        reached.wait()
        return released

    def close(self, result: TurnResult | None) -> None:
        """Show the rest and how it ended, then stop. Blocks until all is written.

        Raises:
            UserError: the output could not be written, though somebody was there to read it.
        """
        if result is not None:
            self._tasks.put(lambda: self._write(lambda: self._view.finish(result)))
        self._tasks.put(None)
        self._thread.join()
        fault = self._fault
        if fault is None or is_reader_gone(fault):
            return
        if isinstance(fault, OSError):
            raise UserError(f"The output cannot be written: {fault.strerror}.") from fault
        raise fault

    def _run(self) -> None:
        while (task := self._tasks.get()) is not None:
            task()
            if self._tasks.empty():
                self._write(self._view.flush)
        self._write(self._view.flush)

    def _write(self, write: _Task) -> None:
        if self._fault is not None:
            return
        try:
            write()
        except Exception as fault:  # noqa: BLE001 - kept for `close`: this thread has no caller
            self._fault = fault
            self._on_broken()
