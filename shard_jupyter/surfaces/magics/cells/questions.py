"""The questions of a turn, put to a person one after another, in the order in which they came.

Whoever answers first counts: a question that is resolved elsewhere, or whose turn ends, is
withdrawn, and the wait for its answer with it.
"""

from __future__ import annotations

import asyncio
import builtins
import contextlib
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from IPython.core.error import StdinNotImplementedError

from shard_jupyter.core.permissions.approval_facts import rule_in_words
from shard_jupyter.surfaces.conversation.answer_dialog import AnswerDialog, Reply
from shard_jupyter.surfaces.conversation.question import answer_words, short_prompt
from shard_jupyter.surfaces.conversation.question_forms import QuestionForms, make_forms
from shard_jupyter.surfaces.conversation.terminal_question import TerminalLines, ask_person
from shard_jupyter.surfaces.magics.cells.inbox import Ended, Inbox
from shard_jupyter.surfaces.magics.cells.stdin_line import LineCancelled, LineReader
from shard_jupyter.types.events import PermissionRequest

NOBODY = Reply("deny", note="no answer was given")
UNCLEAR = Reply("deny", note="no clear answer was given")
MOST_ANSWERS = 20
"""A client that sends empty lines by itself must not be asked for ever."""
ShowQuestion = Callable[[QuestionForms, str], str]
"""As `CellOutput.put_question`."""


@dataclass(frozen=True)
class Answered:
    request_id: str
    reply: Reply


class Asker(Protocol):
    def start(self, request: PermissionRequest) -> Callable[[], None]:
        """Ask; returns what withdraws the question. `Answered` is put into the inbox."""
        ...


class Questions:
    """`asker` None: nobody is here; whoever else sees the question may answer it."""

    def __init__(self, asker: Asker | None) -> None:
        self._asker = asker
        self._waiting: deque[PermissionRequest] = deque()
        self._open: PermissionRequest | None = None
        self._withdraw_open: Callable[[], None] | None = None

    def add(self, request: PermissionRequest) -> None:
        self._waiting.append(request)
        self.ask_next()

    def close_one(self, request_id: str) -> bool:
        """It is answered or resolved, here or elsewhere. True: it was the one being asked."""
        self._waiting = deque(
            request for request in self._waiting if request.request_id != request_id
        )
        if self._open is None or self._open.request_id != request_id:
            return False
        self._withdraw()
        return True

    def ask_next(self) -> None:
        """Ask the oldest one that waits, unless one is being asked."""
        if self._asker is not None and self._open is None and self._waiting:
            self._open = self._waiting.popleft()
            self._withdraw_open = self._asker.start(self._open)

    def close(self) -> None:
        """Withdraw all of them."""
        self._waiting.clear()
        self._withdraw()

    def _withdraw(self) -> None:
        withdraw, self._withdraw_open, self._open = self._withdraw_open, None, None
        if withdraw is not None:
            withdraw()


@dataclass
class Asked:
    """Counts the questions of this kernel, and those that were withdrawn without an answer."""

    count: int = 0
    withdrawn: int = 0

    def next_mark(self) -> str:
        """Name the next question; a yes must end with that name. Empty: no need."""
        self.count += 1
        return f"#{self.count}" if self.withdrawn else ""


_ASKED = Asked()


class StdinAsker:
    """Asks through the kernel's `input()`.

    The input box of a withdrawn question stays on the screen in some clients, and a line says not
    which question it answers. So the next yes after a withdrawal has to name its question.
    """

    def __init__(self, inbox: Inbox, show: ShowQuestion, asked: Asked = _ASKED) -> None:
        self._inbox = inbox
        self._show = show
        self._asked = asked
        # The kernel puts its own in place for as long as the cell runs.
        self._input = builtins.input

    def start(self, request: PermissionRequest) -> Callable[[], None]:
        mark = self._asked.next_mark()
        words = answer_words(request, mark)
        forms = make_forms(request, rule_in_words)
        prompt = self._show(forms, short_prompt(request, words))
        reader = LineReader(self._input)
        is_over = threading.Event()

        def ask() -> None:
            with contextlib.suppress(LineCancelled):
                reply = read_until_clear(reader.read, prompt, request, mark)
                is_over.set()
                if reply.decision != "deny":
                    self._asked.withdrawn = 0
                self._inbox.put(Answered(request.request_id, reply))

        def withdraw() -> None:
            reader.cancel()
            self._asked.withdrawn += not is_over.is_set()

        self._inbox.start("question", ask)
        return withdraw


class TerminalAsker:
    """Asks on the terminal of an IPython that has no kernel."""

    def __init__(self, inbox: Inbox, make_room: Callable[[], None]) -> None:
        self._inbox = inbox
        self._make_room = make_room

    def start(self, request: PermissionRequest) -> Callable[[], None]:
        self._make_room()
        task = asyncio.get_running_loop().create_task(self._ask(request))
        task.add_done_callback(self._tell_failure)

        def withdraw() -> None:
            task.cancel()

        return withdraw

    def _tell_failure(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._inbox.put(Ended("question", error=error))

    async def _ask(self, request: PermissionRequest) -> None:
        with TerminalLines.open() as terminal:
            reply = await ask_person(request, terminal, rule_in_words)
        self._inbox.put(Answered(request.request_id, reply))


def read_until_clear(
    read: Callable[[str], str], prompt: str, request: PermissionRequest, mark: str = ""
) -> Reply:
    """Ask again until the answer is clear. The end of the input denies, and so does confusion."""
    dialog = AnswerDialog(request, rule_in_words, prompt, mark=mark)
    for _ in range(MOST_ANSWERS):
        try:
            line = read(dialog.prompt)
        except (EOFError, StdinNotImplementedError):
            return NOBODY
        reply = dialog.take(line)
        if reply is not None:
            return reply
    return UNCLEAR
