"""Learn that the process which started this one has gone.

The end of the socket says it too, unless a forked copy of that process still holds the other end.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

from shard_jupyter.core.children.exit_watch import Stop, watch_by_descriptor

LOOK_SECONDS = 1.0


def watch_parent(pid: int, on_gone: Callable[[], None]) -> Stop:
    """Call `on_gone` once, on the running loop, when our parent `pid` is dead.

    Linux tells at once; elsewhere it is looked at once a second.
    """
    if os.getppid() != pid:
        return _cancel_of(asyncio.get_running_loop().call_soon(on_gone))
    if hasattr(os, "pidfd_open"):
        try:
            stop = watch_by_descriptor(pid, on_gone)
        except OSError:
            return watch_by_looking(pid, on_gone)
        if os.getppid() == pid:
            return stop
        # It died between the two looks, and the number may already be somebody else's.
        stop()
        return watch_parent(pid, on_gone)
    return watch_by_looking(pid, on_gone)


def watch_by_looking(pid: int, on_gone: Callable[[], None]) -> Stop:
    loop = asyncio.get_running_loop()
    timer: asyncio.TimerHandle | None = None

    def look() -> None:
        nonlocal timer
        if os.getppid() != pid:
            on_gone()
        else:
            timer = loop.call_later(LOOK_SECONDS, look)

    def stop() -> None:
        if timer is not None:
            timer.cancel()

    look()
    return stop


def _cancel_of(handle: asyncio.Handle) -> Stop:
    return handle.cancel
