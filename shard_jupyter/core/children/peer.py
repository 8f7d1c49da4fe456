"""A long-lived child that talks over a socket, held by whoever started it.

No event loop is needed: everything may be called from any thread. A child that did not end in good
order may have left processes behind; they are ended before its number is given back to the system,
because until then nobody else can carry it.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

import psutil

from shard_jupyter.core.children.process_end import kill_members
from shard_jupyter.core.children.process_tree import RunMark

_LONGEST_PAUSE = 0.02


class StartedChild(Protocol):
    """What is used of `subprocess.Popen`, which only one module may import."""

    pid: int
    returncode: int

    def wait(self) -> int: ...


class Peer:
    """Made by `processes.start_peer`. In a forked copy of this process it does nothing.

    Args:
        child: the process.
        mark: how what it starts is told from all else.
        leaves_nothing: what it has left behind is ended even if it ended in good order.
    """

    def __init__(self, child: StartedChild, mark: RunMark, *, leaves_nothing: bool = False) -> None:
        self._child = child
        self._mark = mark
        self._leaves_nothing = leaves_nothing
        self._owner = os.getpid()
        self._lock = threading.Lock()

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def exit_code(self) -> int | None:
        """As a shell counts: 128 + signal. None until `poll` or `wait` has found it dead."""
        code: int | None = self._child.returncode
        return 128 - code if code is not None and code < 0 else code

    def poll(self) -> int | None:
        """Look whether it has ended. If so it is reaped, and what it left behind is ended."""
        if not self._is_mine():
            return self.exit_code
        with self._lock:
            if self.exit_code is None and self._is_dead():
                self._child.wait()
        return self.exit_code

    def wait(self, timeout_seconds: float) -> int | None:
        """Wait for its end, at most so long; None: it still runs."""
        deadline = time.monotonic() + timeout_seconds
        pause = 0.001
        while self.poll() is None and self._is_mine():
            left = deadline - time.monotonic()
            if left <= 0:
                break
            time.sleep(min(pause, left))
            pause = min(pause * 2, _LONGEST_PAUSE)
        return self.exit_code

    def terminate(self) -> None:
        """Ask it to end."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once; `wait` then reaps it and ends what it has started."""
        self._signal(signal.SIGKILL)

    def interrupt_group(self) -> None:
        """Send to it and its group what Ctrl-C sends on a terminal."""
        self._signal(signal.SIGINT, os.killpg)

    def _signal(self, number: signal.Signals, send: Callable[[int, int], None] = os.kill) -> None:
        if not self._is_mine():
            return
        with self._lock:
            if self.exit_code is None:
                with suppress(ProcessLookupError):
                    send(self.pid, number)

    def _is_mine(self) -> bool:
        return os.getpid() == self._owner

    def _is_dead(self) -> bool:
        status = _find_status(self.pid)
        # An end in good order has cleaned up. After any other, look while the number is taken.
        if status is not None and (status not in (0, _REAPED) or self._leaves_nothing):
            kill_members(self._mark)
        return status is not None


_REAPED = -1
_UNKNOWN = -2


def _find_status(pid: int) -> int | None:
    """Return how a child has ended, without reaping it; None while it runs."""
    if not hasattr(os, "waitid"):  # macOS, before Python 3.13
        return _UNKNOWN if _is_zombie(pid) else None
    try:
        found = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return _REAPED  # by somebody else in this process
    return None if found is None else found.si_status


def _is_zombie(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True
