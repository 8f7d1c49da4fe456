"""What earlier messages became on the wire: a late round of a long turn costs what the first did.

A conversation grows at its end, and the messages of one request are the very objects of the last.
What is not so (a fork, a compaction) starts anew. The wire form holds no half characters.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from shard_jupyter.capabilities.model_providers.unicode_repair import mend_json
from shard_jupyter.capabilities.model_providers.wire.wire_content import (
    Images,
    images_of,
    name_calls,
)
from shard_jupyter.types.messages import Message

ToWire = Callable[[Message, dict[str, str]], Iterable[dict[str, Any]]]
WireRow = tuple[Message, list[dict[str, Any]]]


class WireHistory:
    """Owned by one provider, used on its event loop. What it returns is not to be changed."""

    def __init__(self) -> None:
        self._forget({})
        self._looked_at: list[Message] = []
        self._wanted: set[str] = set()

    def find_images(self, messages: Sequence[Message]) -> frozenset[str]:
        """Hashes of all images in `messages`."""
        if not _continues(self._looked_at, messages):
            self._looked_at, self._wanted = [], set()
        for message in messages[len(self._looked_at) :]:
            self._wanted.update(image.sha256 for image in images_of(message))
            self._looked_at.append(message)
        return frozenset(self._wanted)

    def convert(
        self,
        messages: Sequence[Message],
        images: Images,
        allowed: re.Pattern[str],
        to_wire: ToWire,
    ) -> list[WireRow]:
        """Return each message with its wire form; `to_wire` gets the ids of the calls so far."""
        known = [message for message, _ in self._rows]
        if self._images != frozenset(images) or not _continues(known, messages):
            self._forget(images)
        for message in messages[len(self._rows) :]:
            name_calls(message, allowed, self._ids, self._taken)
            wire = [mend_json(part) for part in to_wire(message, self._ids)]
            self._texts.update((id(part), encode(part)) for part in wire)
            self._rows.append((message, wire))
        return self._rows

    def encode_body(self, body: Mapping[str, Any]) -> bytes:
        """Write `body` as JSON; parts that `convert` returned are not encoded again."""
        members = (f"{json.dumps(key)}:{self._encode_value(body[key])}" for key in body)
        return f"{{{','.join(members)}}}".encode()

    def _encode_value(self, value: object) -> str:
        if not isinstance(value, list):
            return encode(mend_json(value))
        # Keyed by identity: `_rows` keeps the parts alive as long as `_texts` knows them.
        texts = (self._texts.get(id(part)) or encode(mend_json(part)) for part in value)
        return f"[{','.join(texts)}]"

    def _forget(self, images: Images) -> None:
        self._images = frozenset(images)
        self._rows: list[WireRow] = []
        self._texts: dict[int, str] = {}
        self._ids: dict[str, str] = {}
        self._taken: set[str] = set()


def encode(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _continues(known: Sequence[Message], messages: Sequence[Message]) -> bool:
    if len(messages) < len(known):
        return False
    return all(old is new for old, new in zip(known, messages, strict=False))
