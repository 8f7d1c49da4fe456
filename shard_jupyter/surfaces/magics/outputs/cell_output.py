"""What a cell shows while its turn runs, and what stays: one class for each kind of client.

Only the cell's own task calls these. What another task or thread wrote would land in whatever cell
was executed last.
"""

from __future__ import annotations

import html
import time
from collections.abc import Callable
from typing import Any, Protocol, TextIO

from shard_jupyter.surfaces.conversation.person_view import write_failure
from shard_jupyter.surfaces.conversation.question_forms import QuestionForms
from shard_jupyter.surfaces.magics.outputs.cell_display import CellDisplay
from shard_jupyter.surfaces.magics.outputs.update_pace import KernelPace, UpdatePace
from shard_jupyter.surfaces.render_static.bundle import TRANSCRIPT_MIME, make_bundle
from shard_jupyter.surfaces.render_static.record_limits import without_open_questions
from shard_jupyter.surfaces.render_static.turn_record import TurnRecorder
from shard_jupyter.types.events import AgentEvent, TurnEnd, TurnStart
from shard_jupyter.types.render_descriptors import Tone
from shard_jupyter.types.turns import ErrorInfo, TurnResult

Clock = Callable[[], float]


class CellOutput(Protocol):
    def show(self, event: AgentEvent) -> None:
        """Take in an event of the turn."""
        ...

    def note(self, message: str, tone: Tone = "info") -> None:
        """Keep a notice of the client's own."""
        ...

    def say(self, words: str) -> None:
        """Show at once what counts for the moment, a question or a state; it does not stay.

        Empty: nothing of that kind holds any more.
        """
        ...

    def put_question(self, question: QuestionForms, short: str) -> str:
        """Show a whole question; returns the text for the line in which it is answered.

        Args:
            question: all of it.
            short: what stands before the answer; says which answers there are.
        """
        ...

    def refresh(self) -> float | None:
        """Show what has changed, if it is time; returns in how many seconds to come again."""
        ...

    def finish(self, end: TurnEnd, *, is_raised: bool) -> None:
        """Show how it ended. `is_raised`: the error will be shown by whoever catches it."""
        ...

    def fail(self, error: ErrorInfo) -> None:
        """There was no turn at all: an error was raised before."""
        ...


class HeadlessOutput:
    """One display at the very end, the same in every run. Nothing where there was no turn."""

    def __init__(self, display: CellDisplay, recorder: TurnRecorder) -> None:
        self._display = display
        self._recorder = recorder

    def show(self, event: AgentEvent) -> None:
        self._recorder.take(event)

    def note(self, message: str, tone: Tone = "info") -> None:
        self._recorder.note(message, tone)

    def say(self, words: str) -> None:
        """Nobody looks on."""

    def put_question(self, question: QuestionForms, short: str) -> str:
        return f"{question.plain}\n{short}"

    def refresh(self) -> float | None:
        return None

    def finish(self, end: TurnEnd, *, is_raised: bool) -> None:
        del is_raised
        self._recorder.take(end)
        self._display.show(make_bundle(self._recorder.record()))

    def fail(self, error: ErrorInfo) -> None:
        """The error alone tells it."""


class NotebookOutput:
    """One display that grows, and in the end is the record that is saved."""

    def __init__(
        self,
        display: CellDisplay,
        recorder: TurnRecorder,
        kernel_pace: KernelPace,
        clock: Clock = time.monotonic,
    ) -> None:
        self._display = display
        self._recorder = recorder
        self._pace = UpdatePace(kernel_pace)
        self._clock = clock
        self._words = ""
        self._question: QuestionForms | None = None
        self._has_changed = False
        self._has_started = False
        """Until then the display says that the agent starts, which the record does not know."""

    def show(self, event: AgentEvent) -> None:
        self._has_started = self._has_started or isinstance(event, TurnStart)
        self._has_changed = self._recorder.take(event) or self._has_changed

    def note(self, message: str, tone: Tone = "info") -> None:
        self._recorder.note(message, tone)
        self._has_changed = True

    def say(self, words: str) -> None:
        if words != self._words or self._question is not None:
            self._words, self._question = words, None
            if self._has_started:
                self._paint()

    def put_question(self, question: QuestionForms, short: str) -> str:
        self._words = ""
        self._question = question
        self._paint()
        return short

    def refresh(self) -> float | None:
        if not (self._has_changed and self._has_started):
            return None
        wait = self._pace.due_at - self._clock()
        if wait > 0:
            return wait
        self._paint()
        return None

    def finish(self, end: TurnEnd, *, is_raised: bool) -> None:
        del is_raised
        self._recorder.take(end)
        self._words, self._question = "", None
        self._paint()

    def fail(self, error: ErrorInfo) -> None:
        self._recorder.fail(error)
        self._words, self._question = "", None
        self._paint()

    def _paint(self) -> None:
        started = self._clock()
        record = self._recorder.record()
        if self._question is not None:
            # What is asked stands below, whole; it need not stand in the row as well.
            bundle = make_bundle(record, shown=without_open_questions(record))
            bundle = add_question(bundle, self._question)
        else:
            bundle = make_bundle(record)
        if self._words:
            bundle = add_words(bundle, self._words)
        self._display.show(bundle)
        self._has_changed = False
        now = self._clock()
        self._pace.sent(now, size=measure_bundle(bundle), work_seconds=now - started)


class SilentOutput:
    """`--quiet`: errors only. A question is the exception: nobody can answer what is not shown.

    Args:
        err: where a failure goes that is not raised; None for nowhere.
    """

    def __init__(self, err: TextIO | None) -> None:
        self._err = err

    def show(self, event: AgentEvent) -> None:
        """Not shown."""

    def note(self, message: str, tone: Tone = "info") -> None:
        """Not shown."""

    def say(self, words: str) -> None:
        """Not shown."""

    def put_question(self, question: QuestionForms, short: str) -> str:
        return f"{question.plain}\n{short}"

    def refresh(self) -> float | None:
        return None

    def finish(self, end: TurnEnd, *, is_raised: bool) -> None:
        if self._err is not None and not is_raised:
            write_failure(to_result(end), self._err)

    def fail(self, error: ErrorInfo) -> None:
        """The error is raised."""


def to_result(end: TurnEnd) -> TurnResult:
    """Read the end of a turn as the result that the SDK would give. Pure."""
    return TurnResult(
        turn_id=end.turn_id or "turn",
        outcome=end.outcome,
        text=end.text,
        error=end.error,
        usage=end.usage,
        denials=end.denials,
        changed_paths=end.changed_paths,
    )


def add_words(bundle: dict[str, Any], words: str) -> dict[str, Any]:
    """Put words below a bundle, whole whatever the bundle's own limits are. Pure."""
    fence = "`" * max(3, _longest_run(words) + 1)
    return bundle | {
        "text/plain": f"{bundle['text/plain'].rstrip()}\n\n{words}\n",
        "text/markdown": f"{bundle['text/markdown'].rstrip()}\n\n{fence}text\n{words}\n{fence}\n",
        "text/html": f"{bundle['text/html']}\n<pre>{html.escape(words)}</pre>",
    }


def add_question(bundle: dict[str, Any], question: QuestionForms) -> dict[str, Any]:
    """Put a question below a bundle, whole whatever the bundle's own limits are. Pure."""
    plain = question.plain.strip("\n")
    return bundle | {
        "text/plain": f"{bundle['text/plain'].rstrip()}\n\n{plain}\n",
        "text/markdown": f"{bundle['text/markdown'].rstrip()}\n\n{question.markdown}\n",
        "text/html": f"{bundle['text/html']}\n{question.html}",
    }


def _longest_run(text: str) -> int:
    longest = run = 0
    for character in text:
        run = run + 1 if character == "`" else 0
        longest = max(longest, run)
    return longest


def measure_bundle(bundle: dict[str, Any]) -> int:
    """Estimate the characters of a bundle; the transcript counts as much as the HTML. Pure."""
    texts = [len(value) for value in bundle.values() if isinstance(value, str)]
    return sum(texts) + (max(texts, default=0) if TRANSCRIPT_MIME in bundle else 0)
