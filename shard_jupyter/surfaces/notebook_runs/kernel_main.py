"""What runs in the kernel's process: an ipykernel that ends when its starter does.

ipykernel looks for the end of its parent by itself, but some versions only recognise it where init
adopts orphans. The end of a socket says it everywhere.
"""

from __future__ import annotations

import os
import runpy
import signal
import sys
import threading

LAUNCHER = "ipykernel_launcher"


def run_kernel(arguments: list[str]) -> None:
    """Run until the kernel is shut down; `arguments` are the lifeline's number and ipykernel's."""
    lifeline = int(arguments[0])
    os.set_inheritable(lifeline, False)
    threading.Thread(target=_end_with, args=(lifeline,), name="lifeline", daemon=True).start()
    sys.argv = [LAUNCHER, *arguments[1:]]
    runpy.run_module(LAUNCHER, run_name="__main__", alter_sys=True)


def _end_with(lifeline: int) -> None:
    """Wait for the other end to close, which it does with its process; nothing is ever sent."""
    os.read(lifeline, 1)
    # The whole group: commands that a cell has started too. Agents have sessions of their own, and
    # end in good order when this process is gone.
    os.killpg(os.getpgid(0), signal.SIGKILL)
