"""Show how far a pull is: one line that is rewritten on a terminal, a line for each tenth elsewhere."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable
from typing import TextIO

from shard_jupyter.capabilities.local_models.catalog.pull_progress import PullProgress
from shard_jupyter.surfaces.conversation.palette import can_rewrite
from shard_jupyter.surfaces.render_static.visible_text import make_visible_line
from shard_jupyter.surfaces.render_static.words.numbers import show_bytes, show_clock

_VERBS = {"ask": "asking", "copy": "copying", "check": "checking", "download": "from"}
_REWRITE = "\r\x1b[K"
_SETTLED_SECONDS = 1.0


class PullView:
    """Takes the reports of one pull. `close` ends the line that is being rewritten."""

    def __init__(
        self,
        stream: TextIO | None = None,
        *,
        is_terminal: bool | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream = stream or sys.stderr
        self._is_terminal = (
            can_rewrite(self._stream, os.environ) if is_terminal is None else is_terminal
        )
        self._clock = clock
        self._kind: tuple[str, str] | None = None
        self._began_at = 0.0
        self._began_bytes = 0
        self._tenth = 0
        self._is_open = False

    def tell(self, progress: PullProgress) -> None:
        """Show one report. Blocks as a terminal does."""
        if progress.phase == "failed":
            line = make_visible_line(_tell_failure(progress))
            self._write(f"{_REWRITE if self._is_open else ''}{line}\n")
            self._kind, self._is_open = None, False
            return
        kind = (progress.phase, progress.source)
        is_new = kind != self._kind
        if is_new:
            self._kind, self._tenth = kind, -1
            self._began_at, self._began_bytes = self._clock(), progress.done_bytes
        if self._is_terminal:
            width = shutil.get_terminal_size().columns - 1
            self._write(f"{_REWRITE}{self._describe(progress)[:width]}")
            self._is_open = True
        elif is_new or _tenth_of(progress) > self._tenth:
            self._tenth = _tenth_of(progress)
            self._write(f"{self._describe(progress)}\n")

    def close(self) -> None:
        """Leave the last line as it is. Idempotent."""
        if self._is_open:
            self._write("\n")
            self._is_open = False

    def _describe(self, progress: PullProgress) -> str:
        source = make_visible_line(progress.source)
        if progress.phase == "ask":
            return f"asking {source} …"
        done, total = progress.done_bytes, progress.total_bytes
        # What changes stands first, so that a narrow terminal cuts the name of the source.
        share = f"{100 * done // total if total else 0:3} %"
        parts = [share, f"{show_bytes(done)} of {show_bytes(total)}", *self._rate(progress)]
        return f"{'  '.join(parts)}  {_VERBS[progress.phase]} {source}"

    def _rate(self, progress: PullProgress) -> list[str]:
        seconds = self._clock() - self._began_at
        came = progress.done_bytes - self._began_bytes
        if seconds < _SETTLED_SECONDS or came <= 0:
            return []
        rate = came / seconds
        told = [f"{show_bytes(round(rate))}/s"]
        if left := progress.total_bytes - progress.done_bytes:
            told.append(f"{show_clock(left / rate)} left")
        return told

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


def _tell_failure(progress: PullProgress) -> str:
    host = progress.source.partition("/")[0]
    names_it = progress.note.startswith(host)
    return progress.note if names_it else f"{progress.source}: {progress.note}"


def _tenth_of(progress: PullProgress) -> int:
    return 10 * progress.done_bytes // progress.total_bytes if progress.total_bytes else 0
