"""Ctrl-C and what else asks a run to stop."""

from __future__ import annotations

import asyncio
import os
import signal
from dataclasses import dataclass

import anyio
import anyio.abc

from shard_jupyter.core.children.process_end import kill_all_descendants

INTERRUPTED = 130
Inbox = asyncio.Queue[object]
"""All that happens to a run, in the order in which it does: messages, presses, the kernel's end."""


@dataclass(frozen=True)
class Press:
    """`is_final`: everything has to end, not only the cell."""

    is_final: bool


class Stopped(Exception):
    """The run was told to end at once."""


async def watch_presses(
    inbox: Inbox,
    *,
    task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
) -> None:
    """Put each into the inbox. The first Ctrl-C is not final; one after the final leaves at once."""
    watched = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        # The terminal was closed. Whoever wants a run to outlive it says so with nohup.
        watched.append(signal.SIGHUP)
    pressed = was_final = False
    with anyio.open_signal_receiver(*watched) as signals:
        task_status.started()
        async for number in signals:
            if was_final:
                kill_all_descendants()
                os._exit(INTERRUPTED)
            was_final = pressed or number is not signal.SIGINT
            pressed = True
            inbox.put_nowait(Press(was_final))
