"""Read a line with `input()` in a thread, so that the event loop lives, and give it up in time.

The kernel's `input` polls its socket and takes a KeyboardInterrupt for the end of the wait. That is
raised in the reading thread when the answer is not needed any more: a reader that stayed would
swallow the line meant for a later `input()`.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable


def _raise_in(thread: int, kind: type[BaseException]) -> None:
    """Raise in another thread as soon as it runs Python again, in place of what waits there."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(kind))


class _Absorbed(BaseException):
    """Raised in the own thread, to have nothing left that waits."""


def _absorb() -> None:
    """Let no exception wait for this thread any more.

    One that was only taken back would leave the interpreter looking for it for ever: slower, and
    in Python 3.11 any profiler or debugger of the kernel would then hang.
    """
    try:
        _raise_in(threading.get_ident(), _Absorbed)
        while True:
            time.sleep(0.001)
    except _Absorbed:
        pass


class LineCancelled(Exception):
    """The wait was given up; nothing was read."""


class LineReader:
    """Reads lines in one thread; `cancel` comes from another.

    Args:
        read: as `input`: blocks, takes the text of the prompt.
    """

    def __init__(self, read: Callable[[str], str]) -> None:
        self._read = read
        self._lock = threading.Lock()
        self._reading: int | None = None
        self._is_cancelled = False

    def read(self, prompt: str) -> str:
        """Wait for a line; in the thread that reads.

        Raises:
            LineCancelled: `cancel` was called before a line came.
            EOFError: there is no more input.
        """
        with self._lock:
            if self._is_cancelled:
                raise LineCancelled
            self._reading = threading.get_ident()
        try:
            return self._read_until_cancelled(prompt)
        except KeyboardInterrupt:
            raise LineCancelled from None

    def _read_until_cancelled(self, prompt: str) -> str:
        try:
            return self._read(prompt)
        finally:
            with self._lock:
                self._reading = None
                is_cancelled = self._is_cancelled
            if is_cancelled:
                # Raised for this read, perhaps after it had its line: it must not go further.
                _absorb()

    def cancel(self) -> None:
        """Give up the wait; idempotent, from any thread."""
        with self._lock:
            is_new, self._is_cancelled = not self._is_cancelled, True
            if is_new and self._reading is not None:
                _raise_in(self._reading, KeyboardInterrupt)
