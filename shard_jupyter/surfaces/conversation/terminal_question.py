"""Ask a person on the terminal whether a call may run.

Keys that were typed before the question do not count. The wait for the answer can be cancelled,
when somebody else answers or the turn is stopped.
"""

from __future__ import annotations

import os
import select
import sys
import termios
import time
from types import TracebackType
from typing import Self

import anyio
import anyio.lowlevel
import anyio.to_thread

from shard_jupyter.surfaces.conversation.answer_dialog import AnswerDialog, Reply
from shard_jupyter.surfaces.conversation.question import (
    DEFAULT_WIDTH,
    DescribeRule,
    show_question,
)
from shard_jupyter.types.events import PermissionRequest

QUIET_SECONDS = 0.15
"""After so long without a key a paste is over."""
PASTE_SECONDS = 1.0
"""Longer than that nobody is kept waiting."""


class TerminalLines:
    """Reads lines from a terminal, or from a file or pipe in its place. A context manager."""

    def __init__(self, descriptor: int, *, owned: bool = False) -> None:
        self._descriptor = descriptor
        self._owned = owned
        self._rest = b""

    @classmethod
    def open(cls) -> Self:
        """Take the terminal of this process, stdin where there is none."""
        try:
            return cls(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC), owned=True)
        except OSError:
            return cls(sys.stdin.fileno())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._owned:
            os.close(self._descriptor)

    @property
    def is_terminal(self) -> bool:
        return os.isatty(self._descriptor)

    def measure_width(self) -> int:
        """Columns; a usual number where there is no terminal."""
        try:
            return os.get_terminal_size(self._descriptor).columns or DEFAULT_WIDTH
        except OSError:
            return DEFAULT_WIDTH

    def write(self, text: str) -> None:
        """Write to the terminal; to stderr where lines come from elsewhere. Blocks."""
        data = text.encode("utf-8", "backslashreplace")
        target = self._descriptor if self._owned else sys.stderr.fileno()
        while data:
            data = data[os.write(target, data) :]

    def forget_typed(self) -> None:
        """Drop what was typed before now. What came through a pipe stays."""
        if self.is_terminal:
            self._rest = b""
            termios.tcflush(self._descriptor, termios.TCIFLUSH)

    def forget_pasted(self) -> None:
        """Drop what was typed, and what comes at once after it: a paste arrives in pieces. Blocks."""
        end = time.monotonic() + PASTE_SECONDS
        self.forget_typed()
        while self.is_terminal and time.monotonic() < end:
            ready, _, _ = select.select([self._descriptor], [], [], QUIET_SECONDS)
            if not ready:
                return
            self.forget_typed()

    async def read_line(self) -> str | None:
        """Wait for a line; None at the end of the input. Can be cancelled."""
        wake_read, wake_write = os.pipe()
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(_close_when_cancelled, wake_write)
                line = await anyio.to_thread.run_sync(self._read_blocking, wake_read)
                group.cancel_scope.cancel()
        finally:
            os.close(wake_read)
        # A cancelled wait must not pass for the end of the input: the thread gives None for both.
        await anyio.lowlevel.checkpoint_if_cancelled()
        return line

    def _read_blocking(self, wake: int) -> str | None:
        while b"\n" not in self._rest:
            ready, _, _ = select.select([self._descriptor, wake], [], [])
            data = b"" if wake in ready else os.read(self._descriptor, 4096)
            if not data:
                return None
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode("utf-8", "replace")


async def _close_when_cancelled(wake: int) -> None:
    """Wake the reading thread, which cannot be cancelled: the other end becomes readable."""
    try:
        await anyio.sleep_forever()
    finally:
        os.close(wake)


async def ask_person(
    request: PermissionRequest, terminal: TerminalLines, describe_rule: DescribeRule
) -> Reply:
    """Ask until the answer is clear. The end of the input denies.

    Cancellation stops the wait at once; the terminal can be used again.
    """
    await anyio.to_thread.run_sync(terminal.forget_typed)
    width = await anyio.to_thread.run_sync(terminal.measure_width)
    question = show_question(request, describe_rule, width)
    dialog = AnswerDialog(request, describe_rule, question, width=width)
    try:
        return await _ask_until_clear(dialog, terminal)
    except anyio.get_cancelled_exc_class():
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(terminal.write, "\n(No answer is needed any more.)\n")
        raise


async def _ask_until_clear(dialog: AnswerDialog, terminal: TerminalLines) -> Reply:
    while True:
        await anyio.to_thread.run_sync(terminal.write, dialog.prompt)
        line = await terminal.read_line()
        if line is None:
            return Reply("deny", note="no answer was given")
        reply = dialog.take(line)
        if reply is not None:
            return reply
        if dialog.step == "keep":
            # What goes further than this call is agreed to by two acts, not by one paste.
            await anyio.to_thread.run_sync(terminal.forget_pasted)
