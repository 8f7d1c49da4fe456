"""An event as the bytes of its record, whatever is in it.

What a model or a tool said may be larger than a record can be, or hold what no peer can read. It
is then shortened, because a client that waits for the end of a turn must get it.
"""

from __future__ import annotations

from typing import Any

from shard_jupyter.errors import FrameError
from shard_jupyter.protocol.envelope import MAX_DEPTH, MAX_NUMBER
from shard_jupyter.protocol.framing import encode_record
from shard_jupyter.store.surrogates import clean_text
from shard_jupyter.types.events import Event
from shard_jupyter.types.wire_model import Unknown

MAX_TEXT_CHARS = 65_536
MAX_CHARS = 2_000_000
"""All texts and keys together; escaped, a character may take six bytes."""
MAX_VALUES = 100_000
_LEFT_OUT = " … (too long to be sent; the session log has all of it)"


def event_bytes(event: Event | Unknown) -> bytes:
    """Write an event; where a limit is passed, with its texts, lists and objects shortened."""
    try:
        return encode_record(event)
    except FrameError:
        return encode_record(_Shortener().shorten(event.model_dump(by_alias=True), 1))


class _Shortener:
    """Cuts plain data down to what a record can hold. What comes first is kept first."""

    def __init__(self) -> None:
        self._chars = MAX_CHARS
        self._values = MAX_VALUES

    def shorten(self, value: Any, depth: int) -> Any:  # noqa: ANN401 - any plain data
        match value:
            case str():
                return self._text(value)
            case bool() | None:
                return value
            case int() | float():
                # NaN is neither above nor below.
                return value if -MAX_NUMBER <= value <= MAX_NUMBER else None
            case dict() | list() | tuple() if depth > MAX_DEPTH:
                return None
            case dict():
                items = self._fitting(list(value.items()))
                return {self._text(str(k)): self.shorten(item, depth + 1) for k, item in items}
            case list() | tuple():
                return [self.shorten(item, depth + 1) for item in self._fitting(list(value))]
            case _:
                return str(value)

    def _fitting(self, items: list[Any]) -> list[Any]:
        fitting = items[: self._values]
        self._values -= len(fitting)
        return fitting

    def _text(self, text: str) -> str:
        text = clean_text(text)
        room = min(MAX_TEXT_CHARS, self._chars)
        self._chars -= min(len(text), room)
        return text if len(text) <= room else text[:room] + _LEFT_OUT
