"""The lines that a run shows a person. Pure; every text in them is harmless to a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from shard_jupyter.core.permissions.pending_requests import DENIED_BY_PERSON
from shard_jupyter.errors import join_sentences
from shard_jupyter.surfaces.conversation.palette import Palette, Style
from shard_jupyter.surfaces.render_static.plain import render_plain
from shard_jupyter.surfaces.render_static.visible_text import make_visible_line
from shard_jupyter.surfaces.render_static.words.notice_words import tell_notice
from shard_jupyter.surfaces.render_static.words.numbers import show_cost, show_count, show_seconds
from shard_jupyter.surfaces.render_static.words.step_words import RECOVERED
from shard_jupyter.types.content import TextBlock
from shard_jupyter.types.events import (
    AgentEvent,
    MessageDiscarded,
    ToolResultEvent,
)
from shard_jupyter.types.render_descriptors import DiffDescriptor, RenderDescriptor
from shard_jupyter.types.tool_results import ResultStatus
from shard_jupyter.types.turns import Denial, TurnResult
from shard_jupyter.types.usage import UsageTotals

_MARKS: dict[ResultStatus, tuple[str, Style]] = {
    "ok": ("✓", "green"),
    "error": ("✗", "red"),
    "denied": ("⊘", "yellow"),
    "interrupted": ("■", "yellow"),
    "uncertain": ("?", "yellow"),
}
_MAX_DIFF_LINES = 60
_DIFF_STYLES: dict[str, Style] = {"+": "green", "-": "red", "@": "cyan"}


def show_call(
    tool: str, arguments: Mapping[str, Any], width: int, *, recovered: bool = False
) -> str:
    """Name a call and what it is about, on one line of at most `width` characters.

    That it was read from text comes last, and is never cut.
    """
    told = next((value for value in arguments.values() if isinstance(value, str)), "")
    line = f"{make_visible_line(tool)}  {make_visible_line(told)}".rstrip()
    mark = f"  ({RECOVERED})" if recovered else ""
    room = width - len(mark)
    return f"{line if len(line) <= room else f'{line[: room - 1]}…'}{mark}"


def show_result(event: ToolResultEvent, call: str, seconds: float, palette: Palette) -> str:
    mark, style = _MARKS[event.status]
    row = f"{palette.paint(mark, style)} {call}"
    outcome = _outcome(event)
    tail = f"  {palette.paint(outcome, style)}" if outcome else ""
    return f"{row}  {palette.paint(show_seconds(seconds), 'dim')}{tail}"


def _outcome(event: ToolResultEvent) -> str:
    exit_code = event.details.get("exit_code")
    if isinstance(exit_code, int) and exit_code != 0:
        return f"exit {exit_code}"
    texts = (block.text for block in event.content if isinstance(block, TextBlock))
    first = next(texts, "").strip().split("\n", 1)[0]
    if event.status == "denied":
        return _say_denied(first.removeprefix("Denied: "))
    if event.status != "error":
        return "" if event.status == "ok" else event.status
    return make_visible_line(first[:160])


def _say_denied(reason: str) -> str:
    """Who has denied it knows why; what a rule or the mode denies, nobody was asked for."""
    if not reason or reason.startswith(DENIED_BY_PERSON):
        return "denied"
    return make_visible_line(f"denied: {reason[:160]}")


def show_diffs(descriptors: Sequence[RenderDescriptor], palette: Palette) -> Iterator[str]:
    """Yield the lines of each diff, indented; a long one is cut, and says so."""
    for descriptor in descriptors:
        if isinstance(descriptor, DiffDescriptor):
            lines = render_plain(descriptor).split("\n")
            for line in lines[:_MAX_DIFF_LINES]:
                style = _DIFF_STYLES.get(line[:1], "dim")
                yield f"    {palette.paint(line, style)}"
            if len(lines) > _MAX_DIFF_LINES:
                yield f"    ({len(lines) - _MAX_DIFF_LINES} more lines)"


def show_remark(event: AgentEvent) -> tuple[str, bool] | None:
    """Put an event besides text and tools into words; the flag says that it is a warning."""
    told = _remark(event)
    return None if told is None else (make_visible_line(told[0]), told[1])


def _remark(event: AgentEvent) -> tuple[str, bool] | None:
    if isinstance(event, MessageDiscarded):
        # Whether it is asked for again is for the next event to say.
        return f"The answer was cut off ({event.reason}) and does not count.", True
    told = tell_notice(event, deterministic=False)
    return None if told is None else (told[0], told[1] != "info")


def show_totals(result: TurnResult) -> str:
    """Sum up a turn in one line."""
    usage = result.usage
    parts = [*_tokens(usage), show_cost(usage.cost_usd)]
    if count := len(result.changed_paths):
        parts.insert(0, f"{count} file{'s' if count > 1 else ''} changed")
    return " · ".join(parts)


def _tokens(usage: UsageTotals) -> Iterator[str]:
    """A sum with unknown parts is a lower bound, and says so."""
    if usage.unknown_calls and not usage.input_tokens + usage.output_tokens:
        yield "tokens unknown"
        return
    more = "+" if usage.unknown_calls else ""
    yield f"{show_count(usage.input_tokens)}{more} in"
    yield f"{show_count(usage.output_tokens)}{more} out"


def _denial_lines(denial: Denial) -> Iterator[str]:
    yield make_visible_line(f"Denied: {denial.tool}: {denial.reason}")
    if denial.would_allow:
        yield make_visible_line(f"  This rule would allow it: {denial.would_allow}")


def show_failure(result: TurnResult) -> Iterator[str]:
    """Yield what a caller must know when the work was not done; nothing when it was.

    Only our own messages have several lines: a server's is made one where it arrives.
    """
    lines = (line for denial in result.denials for line in _denial_lines(denial))
    yield from dict.fromkeys(lines)  # the same call denied again is told once
    if result.error is not None:
        told = join_sentences(result.error.message, result.error.next_step)
        first, *quoted = map(make_visible_line, told.split("\n"))
        yield first
        yield from (f"  {line}" for line in quoted)
    elif result.outcome != "completed":
        yield f"The turn ended as {result.outcome}."
