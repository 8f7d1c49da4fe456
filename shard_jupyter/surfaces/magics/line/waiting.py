"""Waits in a cell for work that has an event loop of its own; an interrupt ends both."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from concurrent.futures import wait
from typing import TypeVar

from anyio.from_thread import start_blocking_portal

from shard_jupyter.surfaces.magics.line.interruptible import interruptible

Found = TypeVar("Found")
LOOK_SECONDS = 0.1


def wait_for(work: Callable[[], Awaitable[Found]]) -> Found:
    """Run `work` to its end; the kernel's own loop is not touched.

    Raises:
        KeyboardInterrupt: the person interrupts; `work` was cancelled and has come to its end.
    """
    with interruptible(), start_blocking_portal() as portal:
        future = portal.start_task_soon(work)
        while not wait([future], LOOK_SECONDS).done:
            # A signal that comes just before a wait begins does not end it, only the next one.
            continue
        return future.result()
