"""Halves of surrogate pairs: JSON escapes bring them in and no later request may hold them.

Pure. A pair that a server cut in two (across deltas too) is joined again; a half that stays
alone becomes U+FFFD, in both directions, because every encoder on the way refuses it.
"""

from __future__ import annotations

import re
from typing import Any

_HALF = re.compile("[\ud800-\udfff]")
_LEADING_HALF = re.compile("[\ud800-\udbff]\\Z")


def mend_text(text: str) -> str:
    """Return `text` in a form that always encodes."""
    if text.isascii() or not _HALF.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def mend_json(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Mend every string of a JSON value, keys included; leaves `value` itself alone."""
    if isinstance(value, str):
        return mend_text(value)
    if isinstance(value, dict):
        return {mend_text(key): mend_json(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [mend_json(part) for part in value]
    return value


class PieceMender:
    """Mends a text that comes in pieces. Holds a leading half back until its other half came."""

    def __init__(self) -> None:
        self._held = ""

    def push(self, piece: str) -> str:
        if not self._held and piece.isascii():
            return piece
        text = self._held + piece
        self._held = ""
        if half := _LEADING_HALF.search(text):
            self._held = half.group()
            text = text[: half.start()]
        return mend_text(text)
