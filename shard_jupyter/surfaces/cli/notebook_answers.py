"""Who answers the questions of a notebook that is run from the command line."""

from __future__ import annotations

import os
import termios
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import anyio
import anyio.to_thread

from shard_jupyter.surfaces.conversation.question import find_standing_answer
from shard_jupyter.surfaces.conversation.terminal_question import TerminalLines
from shard_jupyter.surfaces.render_static.visible_text import make_visible


class TerminalPerson:
    """Somebody types. What was typed before a question does not count."""

    @property
    def has_person(self) -> bool:
        return True

    async def answer(self, prompt: str, *, is_password: bool) -> str | None:
        with await anyio.to_thread.run_sync(TerminalLines.open) as terminal:
            await anyio.to_thread.run_sync(terminal.forget_typed)
            await anyio.to_thread.run_sync(terminal.write, make_visible(prompt))
            if not is_password:
                return await _read_line(terminal)
            with _without_echo():
                line = await terminal.read_line()
            await anyio.to_thread.run_sync(terminal.write, "\n")
            return line


async def _read_line(terminal: TerminalLines) -> str | None:
    try:
        return await terminal.read_line()
    except anyio.get_cancelled_exc_class():
        # What is said of the end must not stand behind the prompt.
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(terminal.write, "\n")
        raise


class AlwaysYes:
    """Allows once what an agent asks, and says so; answers all else with an empty line.

    It allows no call that was read from a model's text: nobody has looked at it.

    Args:
        write: shows a whole line.
    """

    def __init__(self, write: Callable[[str], None], name: str) -> None:
        self._write = write
        self._name = name

    @property
    def has_person(self) -> bool:
        return True

    async def answer(self, prompt: str, *, is_password: bool) -> str | None:
        del is_password
        answer = find_standing_answer(prompt) or ""
        line = f"{make_visible(prompt)}{answer}  ({self._name})"
        await anyio.to_thread.run_sync(self._write, line)
        return answer


@contextmanager
def _without_echo() -> Iterator[None]:
    terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        before = termios.tcgetattr(terminal)
        silent = [*before[:3], before[3] & ~termios.ECHO, *before[4:]]
        termios.tcsetattr(terminal, termios.TCSADRAIN, silent)
        try:
            yield
        finally:
            termios.tcsetattr(terminal, termios.TCSADRAIN, before)
    finally:
        os.close(terminal)
