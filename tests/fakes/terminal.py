"""A real terminal with a program in it, and a test at its other end."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

PATIENCE_SECONDS = 30.0

# A fresh session takes the terminal on its stdin for its own, as a shell's session has one.
TAKE_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


class Terminal:
    """A program in a terminal of its own, as a person has it."""

    def __init__(
        self, command: Sequence[str], *, cwd: Path, env: Mapping[str, str] | None = None
    ) -> None:
        self._end, other_end = pty.openpty()
        # Wide enough that no line of a test is cut.
        fcntl.ioctl(other_end, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 160, 0, 0))
        self.child = subprocess.Popen(
            [sys.executable, "-c", TAKE_TERMINAL, *command],
            cwd=cwd,
            env=env,
            stdin=other_end,
            stdout=other_end,
            stderr=other_end,
            start_new_session=True,
        )
        os.close(other_end)
        self.seen = b""

    def see(self, data: bytes, times: int = 1) -> None:
        """Read until `data` was shown, so many times."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self.seen.count(data) < times:
            ready, _, _ = select.select([self._end], [], [], deadline - time.monotonic())
            assert ready, f"{data!r} was not shown, but {self.seen!r}"
            self.seen += os.read(self._end, 4096)

    def type(self, data: bytes) -> None:
        os.write(self._end, data)

    def end(self) -> int:
        """Wait for the end and return the exit code."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            ready, _, _ = select.select([self._end], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, f"it did not end, but showed {self.seen!r}"
            try:
                data = os.read(self._end, 4096)
            except OSError:
                break
            if not data:
                break
            self.seen += data
        return self.child.wait(PATIENCE_SECONDS)

    def hang_up(self) -> None:
        """Go away, as a window that is closed."""
        os.close(self._end)
        self._end = -1

    def close(self) -> None:
        self.child.kill()
        self.child.wait()
        if self._end >= 0:
            os.close(self._end)
