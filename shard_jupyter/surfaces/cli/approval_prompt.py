"""Ask a person on the terminal whether a call may run.

What is shown is all of what will run, with every character visible, and never cut. The answer is a
whole line: no single key allows anything, and keys that were typed before the question do not
count. The wait for it can be cancelled, when somebody else answers or the turn is stopped.
"""

from __future__ import annotations

import json
import os
import select
import sys
import termios
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Literal, Self

import anyio
import anyio.lowlevel
import anyio.to_thread

from shard_jupyter.surfaces.render_static.plain import render_all
from shard_jupyter.surfaces.render_static.visible_text import make_visible, make_visible_line
from shard_jupyter.types.decisions import Rule
from shard_jupyter.types.events import PermissionRequest

DescribeRule = Callable[[Rule], str]


@dataclass(frozen=True)
class Reply:
    """What the person decided. `rule` is one of the offered ones, only with allow_always."""

    decision: Literal["allow", "allow_always", "deny"]
    note: str = ""
    rule: Rule | None = None


def show_question(request: PermissionRequest, describe_rule: DescribeRule) -> str:
    """Write the question out; ends with the prompt for the answer. Pure."""
    return "\n".join(_question_lines(request, describe_rule)) + "\n> "


def _question_lines(request: PermissionRequest, describe_rule: DescribeRule) -> Iterator[str]:
    yield f"\n{make_visible_line(request.tool)} asks: {make_visible_line(request.prompt)}"
    for part in _shown_parts(request):
        # The bar tells what is shown from what is said: no text can write a line of its own.
        yield from (f"  │ {line}" for line in part.split("\n"))
    if request.why and request.why != request.prompt:
        yield f"Why asked: {make_visible_line(request.why)}"
    yield "  y  allow it once"
    for letter, rule in zip(_rule_letters(request), request.offered_rules, strict=True):
        yield f"  {letter}  always: {make_visible_line(describe_rule(rule))}"
    yield "  n  deny it; words after the n are told to the model"


def _shown_parts(request: PermissionRequest) -> Iterator[str]:
    """Yield the preview, the command unless the preview holds it line for line, and the rest."""
    preview = render_all(request.render)
    if preview:
        yield preview
    rest = dict(request.arguments)
    command = rest.pop("command", None)
    if isinstance(command, str):
        visible = make_visible(command)
        if f"\n{visible}\n" not in f"\n{preview}\n":
            yield visible
    if rest and not preview:
        yield make_visible(json.dumps(rest, indent=2, ensure_ascii=False))


def _rule_letters(request: PermissionRequest) -> list[str]:
    count = len(request.offered_rules)
    return ["a"][:count] if count <= 1 else [f"a{number}" for number in range(1, count + 1)]


def read_reply(line: str, request: PermissionRequest) -> Reply | None:
    """Understand an answer; None for what is no clear answer. Pure."""
    word, _, rest = line.strip().partition(" ")
    word, rest = word.lower(), rest.strip()
    if word in ("n", "no"):
        return Reply("deny", note=rest)
    if rest:
        return None
    if word in ("y", "yes"):
        return Reply("allow")
    rules = dict(zip(_rule_letters(request), request.offered_rules, strict=True))
    return Reply("allow_always", rule=rules[word]) if word in rules else None


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
    try:
        return await _ask_until_clear(request, terminal, show_question(request, describe_rule))
    except anyio.get_cancelled_exc_class():
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(terminal.write, "\n(No answer is needed any more.)\n")
        raise


async def _ask_until_clear(
    request: PermissionRequest, terminal: TerminalLines, question: str
) -> Reply:
    while True:
        await anyio.to_thread.run_sync(terminal.write, question)
        line = await terminal.read_line()
        if line is None:
            return Reply("deny", note="nobody answered")
        reply = read_reply(line, request)
        if reply is not None:
            return reply
        words = ("y", *_rule_letters(request), "n")
        question = f"That is no answer. {', '.join(words)}\n> "
