"""Show a turn to a person as plain text that grows: on a terminal, or in a console of a kernel.

Text streams and each tool call leaves one quiet line. Where nothing streams, standard output gets
the final text alone, byte for byte, so that it can be piped.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TextIO

from shard_jupyter.surfaces.conversation.palette import Palette, terminal_width
from shard_jupyter.surfaces.conversation.turn_lines import (
    show_call,
    show_diffs,
    show_failure,
    show_remark,
    show_result,
    show_totals,
)
from shard_jupyter.surfaces.render_static.visible_text import make_visible
from shard_jupyter.types.content import TextBlock
from shard_jupyter.types.events import (
    AgentEvent,
    MessageComplete,
    MessageDelta,
    MessageDiscarded,
    PermissionResolved,
    ToolCallEvent,
    ToolResultEvent,
)
from shard_jupyter.types.turns import TurnResult


def write_failure(result: TurnResult, err: TextIO) -> None:
    err.writelines(f"shard: {line}\n" for line in show_failure(result))


class PersonView:
    """For a person. `rows` is where tool lines go, None for nowhere.

    Args:
        out: where text goes.
        err: where warnings and failures go.
        palette: colours for `out`.
        streams: whether text is shown as it comes; default: when `out` is a terminal.
        clock: seconds.
    """

    def __init__(
        self,
        out: TextIO,
        err: TextIO,
        palette: Palette,
        *,
        streams: bool | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._out = out
        self._err = err
        self._palette = palette
        self._clock = clock
        self._streams = out.isatty() if streams is None else streams
        self._rows = out if self._streams else err if err.isatty() else None
        self._width = max(20, terminal_width(self._rows) - 24) if self._rows else 80
        self._shown: dict[str, int] = {}
        self._open_line = False
        self._calls: dict[str, tuple[str, float]] = {}
        self._last_result = 0.0

    def show(self, event: AgentEvent) -> None:
        match event:
            case MessageDelta(channel="text"):
                self._stream(event.item_id, event.offset, event.text)
            case MessageComplete():
                self._complete(event)
            case ToolCallEvent():
                call = show_call(
                    event.tool, event.arguments, self._width, recovered=event.recovered
                )
                self._calls[event.call_id] = call, self._clock()
            case PermissionResolved():
                # The person's own time is not the tool's.
                if event.call_id in self._calls:
                    self._calls[event.call_id] = self._calls[event.call_id][0], self._clock()
            case ToolResultEvent():
                self._show_result(event)
            case _:
                self._remark(event)

    def pause(self) -> None:
        """Finish the open line: something else is about to be written."""
        self._end_line()

    def finish(self, result: TurnResult, *, tell_failure: bool = True) -> None:
        """Show how it ended; `tell_failure` False where an exception will tell that."""
        self._end_line()
        if self._streams:
            self._out.write(self._palette.paint(show_totals(result), "dim") + "\n")
        elif result.text:
            self._out.write(result.text if result.text.endswith("\n") else f"{result.text}\n")
        if tell_failure:
            write_failure(result, self._err)

    def flush(self) -> None:
        self._out.flush()
        self._err.flush()

    def _stream(self, item_id: str, offset: int, text: str) -> None:
        """Write what of `text` was not written yet.

        After a gap nothing is written until the whole text comes.
        """
        shown = self._shown.get(item_id, 0)
        if offset > shown:
            return
        new = text[max(0, shown - offset) :]
        self._shown[item_id] = max(shown, offset + len(text))
        if self._streams and new:
            self._out.write(make_visible(new))
            self._open_line = not new.endswith("\n")

    def _complete(self, event: MessageComplete) -> None:
        text = "".join(block.text for block in event.content if isinstance(block, TextBlock))
        self._stream(event.item_id, 0, text)
        self._end_line()

    def _end_line(self) -> None:
        if self._open_line:
            self._out.write("\n")
            self._open_line = False

    def _show_result(self, event: ToolResultEvent) -> None:
        now = self._clock()
        call, started = self._calls.pop(event.call_id, (show_call(event.tool, {}, 80), now))
        seconds = now - max(started, self._last_result)
        self._last_result = now
        self._row(show_result(event, call, seconds, self._palette))
        for line in show_diffs(event.render, self._palette):
            self._row(line)

    def _row(self, line: str) -> None:
        if self._rows is not None:
            self._end_line()
            self._rows.write(f"{line}\n")

    def _remark(self, event: AgentEvent) -> None:
        remark = show_remark(event)
        if remark is None:
            return
        line, is_warning = remark
        if isinstance(event, MessageDiscarded) and not (
            self._streams and self._shown.get(event.item_id)
        ):
            return  # nobody has seen any of it
        if self._rows is not None:
            self._row(self._palette.paint(line, "yellow" if is_warning else "dim"))
        elif is_warning:
            self._err.write(f"shard: {line}\n")
