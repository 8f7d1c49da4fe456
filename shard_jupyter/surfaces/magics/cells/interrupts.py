"""Ctrl-C and the interrupt button while an agent works.

The kernel's own handler wakes a quiet event loop only by chance, seconds later. Ours counts a press
and hands it on at once; it is there for the life of a cell and never longer.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

OnPress = Callable[[], None]
"""Called in the main thread between any two instructions: must not block nor take a lock."""

_active: list[OnPress] = []
_saved: list[Any] = []


def _handle(number: int, frame: FrameType | None) -> None:
    del number, frame
    for on_press in tuple(_active):
        on_press()


class InterruptGuard:
    """A context manager: while it is entered, SIGINT calls `on_press` and raises nothing.

    Several may be entered at once, in any order; all are told, and the handler that was there
    before the first comes back after the last. Outside of the main thread it does nothing.
    """

    def __init__(self, on_press: OnPress) -> None:
        self._on_press = on_press
        self._is_watching = False

    def __enter__(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        self._is_watching = True
        _active.append(self._on_press)
        if not _saved:
            _saved.append(signal.signal(signal.SIGINT, _handle))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._is_watching:
            return
        _active.remove(self._on_press)
        if not _active and _saved:
            # None: it was installed by something that is not Python, and cannot be put back.
            signal.signal(signal.SIGINT, _saved.pop() or signal.default_int_handler)
