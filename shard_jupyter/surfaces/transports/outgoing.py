"""What waits to be written to one client. No I/O.

Three invariants:

1. The order is that of the calls.
2. Replies and durable events are never left out.
3. Deltas take bounded memory: neighbours that continue each other become one, and past the limit
   they are left out. Their offsets show the client the gap, `message_complete` has the whole text.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from shard_jupyter.surfaces.transports.event_bytes import event_bytes
from shard_jupyter.types.events import Event, MessageDelta, ToolProgress
from shard_jupyter.types.wire_model import Unknown

MAX_DELTA_CHARS = 1 << 20
"""All deltas that wait, together."""
MAX_DELTAS = 4096
MAX_JOINED_CHARS = 16_384
"""One record that many deltas were joined to."""

Delta = MessageDelta | ToolProgress


@dataclass
class _Run:
    """Deltas that continue each other."""

    first: Delta
    texts: list[str] = field(default_factory=list)
    chars: int = 0

    def is_continued_by(self, delta: Delta) -> bool:
        if self.chars + len(delta.text) > MAX_JOINED_CHARS or delta.agent_id != self.first.agent_id:
            return False
        if isinstance(self.first, ToolProgress):
            return (
                isinstance(delta, ToolProgress)
                and delta.call_id == self.first.call_id
                and not (delta.render or self.first.render)
            )
        return isinstance(delta, MessageDelta) and (
            _stream_of(delta) == _stream_of(self.first)
            and delta.offset == self.first.offset + self.chars
        )

    def add(self, delta: Delta) -> None:
        self.texts.append(delta.text)
        self.chars += len(delta.text)

    def joined(self) -> Delta:
        if len(self.texts) == 1:
            return self.first
        return self.first.model_copy(update={"text": "".join(self.texts)})


@dataclass(frozen=True)
class _Reply:
    data: bytes


def _stream_of(delta: MessageDelta) -> tuple[object, ...]:
    return (delta.turn_id, delta.item_id, delta.channel, delta.call_id, delta.tool)


class OutgoingQueue:
    """Belongs to one connection and one event loop.

    Attributes:
        reply_bytes: size of the replies that wait.
        dropped: deltas that were left out.
    """

    def __init__(self) -> None:
        self._waiting: deque[bytes | _Reply | _Run] = deque()
        self._delta_chars = 0
        self._deltas = 0
        self.reply_bytes = 0
        self.dropped = 0

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def has_durable(self) -> bool:
        """True while something other than deltas waits."""
        return len(self._waiting) > self._deltas

    def put_reply(self, record: bytes) -> None:
        self._waiting.append(_Reply(record))
        self.reply_bytes += len(record)

    def put_event(self, event: Event | Unknown) -> bool:
        """Add an event; True if it must be written at once, False for a delta."""
        if not isinstance(event, MessageDelta | ToolProgress):
            self._waiting.append(event_bytes(event))
            return True
        self._put_delta(event)
        return False

    def _put_delta(self, delta: Delta) -> None:
        last = self._waiting[-1] if self._waiting else None
        continues = isinstance(last, _Run) and last.is_continued_by(delta)
        if self._delta_chars + len(delta.text) > MAX_DELTA_CHARS or (
            not continues and self._deltas >= MAX_DELTAS
        ):
            self.dropped += 1
            return
        if not (isinstance(last, _Run) and continues):
            last = _Run(delta)
            self._waiting.append(last)
            self._deltas += 1
        last.add(delta)
        self._delta_chars += len(delta.text)

    def take(self, max_bytes: int) -> bytes:
        """Take what is to be written next; not much more than `max_bytes`, unless one record is."""
        batch: list[bytes] = []
        size = 0
        while self._waiting and size < max_bytes:
            batch.append(self._take_one())
            size += len(batch[-1])
        return b"".join(batch)

    def _take_one(self) -> bytes:
        item = self._waiting.popleft()
        if isinstance(item, _Reply):
            self.reply_bytes -= len(item.data)
            return item.data
        if isinstance(item, _Run):
            self._deltas -= 1
            self._delta_chars -= item.chars
            return event_bytes(item.joined())
        return item

    def clear(self) -> None:
        """Forget all: the client has gone."""
        self._waiting.clear()
        self._deltas = self._delta_chars = self.reply_bytes = 0
