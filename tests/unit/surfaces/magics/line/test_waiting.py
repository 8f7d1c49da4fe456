"""A wait of the main thread ends with an interrupt that did not wake it.

A signal that comes just before a wait begins is noted and wakes nobody. One that another thread of
the process takes does the same, and can be sent on purpose.
"""

from __future__ import annotations

import signal
import threading

import anyio
import pytest

from shard_jupyter.surfaces.magics import cell_run
from shard_jupyter.surfaces.magics.cells.inbox import Inbox, Press
from shard_jupyter.surfaces.magics.cells.interrupts import InterruptGuard
from shard_jupyter.surfaces.magics.line.waiting import wait_for

pytestmark = [pytest.mark.proves("D02"), pytest.mark.timeout(20)]


def interrupt_from_here() -> None:
    signal.pthread_kill(threading.get_ident(), signal.SIGINT)


def test_the_wait_of_a_line_ends_and_its_work_is_cancelled() -> None:
    ended: list[str] = []

    async def work() -> None:
        interrupt_from_here()
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("work")

    with pytest.raises(KeyboardInterrupt):
        wait_for(work)
    assert ended == ["work"]


def test_a_cell_that_code_waits_for_hears_of_it() -> None:
    presses = cell_run._Presses()
    heard: list[object] = []

    async def work() -> None:
        inbox = Inbox()
        presses.send_to(inbox)
        interrupt_from_here()
        heard.extend(await inbox.take())

    with InterruptGuard(presses.press):
        cell_run._run_in_thread(work(), presses)
    assert heard == [Press()]
