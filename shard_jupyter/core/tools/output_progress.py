"""Shows the output of a running command without flooding anybody."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Self

from shard_jupyter.core.text.truncation import (
    clean_text,
    decode_tail,
    strip_escapes,
    torn_bytes,
)

INTERVAL_SECONDS = 0.1
MAX_PIECE_BYTES = 4096


class OutputProgress:
    """Passes on the newest bytes, at most `MAX_PIECE_BYTES` of them every `INTERVAL_SECONDS`."""

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
        self._newest = b""
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def feed(self, chunk: bytes) -> None:
        self._newest = (self._newest + chunk)[-MAX_PIECE_BYTES:]
        if self._timer is None:
            self._show()
            self._timer = asyncio.get_running_loop().call_later(INTERVAL_SECONDS, self._tick)

    def _tick(self) -> None:
        self._timer = None
        if self._newest:
            self._show()
            self._timer = asyncio.get_running_loop().call_later(INTERVAL_SECONDS, self._tick)

    def _show(self) -> None:
        torn = torn_bytes(self._newest)
        newest, self._newest = (
            self._newest[: len(self._newest) - torn],
            self._newest[-torn:] if torn else b"",
        )
        if newest:
            self._report(clean_text(strip_escapes(decode_tail(newest))))
