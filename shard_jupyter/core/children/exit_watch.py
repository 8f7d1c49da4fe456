"""Learn on the event loop that a child has exited, without a signal handler.

Linux: the child's pidfd becomes readable. Elsewhere (macOS, a kernel or a container without
`pidfd_open`) a thread waits for this one child. No exit status is ever taken from somebody else.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress

Stop = Callable[[], None]
Wait = Callable[[], object]
"""Blocks until the child is dead, and reaps it; for use in a thread."""


def watch_exit(pid: int, wait: Wait, on_exit: Callable[[], None]) -> Stop:
    """Call `on_exit` once, on the running loop, when `pid` is dead. The result ends the watch."""
    if hasattr(os, "pidfd_open"):
        with suppress(OSError):
            return watch_by_descriptor(pid, on_exit)
    return watch_by_thread(wait, on_exit)


def watch_by_descriptor(pid: int, on_exit: Callable[[], None]) -> Stop:
    loop = asyncio.get_running_loop()
    descriptor = os.pidfd_open(pid)
    is_open = True

    def stop() -> None:
        nonlocal is_open
        if is_open:
            is_open = False
            loop.remove_reader(descriptor)
            os.close(descriptor)

    def report() -> None:
        stop()
        on_exit()

    loop.add_reader(descriptor, report)
    return stop


def watch_by_thread(wait: Wait, on_exit: Callable[[], None]) -> Stop:
    loop = asyncio.get_running_loop()
    is_wanted = True

    def report() -> None:
        if is_wanted:
            on_exit()

    def wait_and_report() -> None:
        wait()
        with suppress(RuntimeError):  # the loop was closed meanwhile: nobody is left to tell
            loop.call_soon_threadsafe(report)

    def stop() -> None:
        nonlocal is_wanted
        is_wanted = False

    waiting = loop.run_in_executor(None, wait_and_report)
    waiting.add_done_callback(lambda done: done.exception())
    return stop
