"""A turn as plain text that grows: for consoles of a kernel, and for IPython in a terminal."""

from __future__ import annotations

import io
import time
from typing import Literal, TextIO, cast

from shard_jupyter.surfaces.conversation.palette import Palette
from shard_jupyter.surfaces.conversation.person_view import PersonView
from shard_jupyter.surfaces.conversation.question_forms import QuestionForms
from shard_jupyter.surfaces.magics.outputs.cell_output import Clock, to_result
from shard_jupyter.types.events import AgentEvent, Notice, TurnEnd
from shard_jupyter.types.render_descriptors import Tone
from shard_jupyter.types.turns import ErrorInfo

CONSOLE_SECONDS = 0.05
"""How long text may wait for more, so that it is not sent in crumbs."""


class TextBatch(io.TextIOBase):
    """Collects text for `out` until it is flushed.

    A kernel's stream starts a timer with the first write after each flush, and every timer sends a
    message: many small writes between flushes would end in a message for each.
    """

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._parts: list[str] = []

    def write(self, text: str) -> int:
        self._parts.append(text)
        return len(text)

    def flush(self) -> None:
        if self._parts:
            self._out.write("".join(self._parts))
            self._parts.clear()
        self._out.flush()

    def fileno(self) -> int:
        return self._out.fileno()

    def isatty(self) -> bool:
        return self._out.isatty()


class ConsoleOutput:
    """Plain text as it comes, for clients that show nothing else."""

    def __init__(
        self, out: TextIO, err: TextIO, palette: Palette, clock: Clock = time.monotonic
    ) -> None:
        self._out = TextBatch(out)
        self._clock = clock
        self._flush_at: float | None = None
        view_out = cast("TextIO", self._out)  # all that the view uses of one
        self._view = PersonView(view_out, err, palette, streams=True)

    def show(self, event: AgentEvent) -> None:
        self._view.show(event)
        if self._flush_at is None:
            self._flush_at = self._clock() + CONSOLE_SECONDS

    def note(self, message: str, tone: Tone = "info") -> None:
        self._view.show(
            Notice(agent_id="kernel", code="client", message=message, tone=_notice_tone(tone))
        )
        self._view.flush()

    def say(self, words: str) -> None:
        if words:
            self.note(words)
        else:
            self._view.pause()
            self._view.flush()

    def put_question(self, question: QuestionForms, short: str) -> str:
        self._view.pause()
        self._out.write(f"{question.plain}\n")
        self._view.flush()
        return short

    def refresh(self) -> float | None:
        if self._flush_at is None:
            return None
        wait = self._flush_at - self._clock()
        if wait > 0:
            return wait
        self._flush_at = None
        self._view.flush()
        return None

    def finish(self, end: TurnEnd, *, is_raised: bool) -> None:
        self._view.finish(to_result(end), tell_failure=not is_raised)
        self._view.flush()

    def fail(self, error: ErrorInfo) -> None:
        del error
        self._view.pause()
        self._view.flush()


def _notice_tone(tone: Tone) -> Literal["info", "warn", "error"]:
    return "info" if tone == "success" else tone
