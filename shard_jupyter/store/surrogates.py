"""Half characters: text that cannot be UTF-8, and that no provider and no file takes."""

from __future__ import annotations

import re
from typing import Any

_HALVES = re.compile("[\ud800-\udfff]")
REPLACEMENT = "\ufffd"


def clean_text(text: str) -> str:
    """Replace lone surrogates by U+FFFD; the same object when there are none."""
    # isascii is a flag of the string, so nearly all text costs nothing here.
    if text.isascii() or _HALVES.search(text) is None:
        return text
    return _HALVES.sub(REPLACEMENT, text)


def clean_value(value: Any) -> Any:  # noqa: ANN401 - any plain data
    """`clean_text` for every string in plain data, keys too. Returns copies of containers."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, dict):
        return {clean_value(key): clean_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [clean_value(item) for item in value]
    return value
