"""Ctrl-C for a line that blocks. Light: every `%shard` line runs in it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def interruptible() -> Iterator[None]:
    """Let SIGINT raise KeyboardInterrupt at once.

    In a cell with an `await` in it ipykernel's own handler only asks the loop, and this blocks it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        # None: set by something that is not Python, which cannot be put back from here.
        signal.signal(signal.SIGINT, signal.SIG_DFL if before is None else before)
