"""Text that stands in a file or is a file's name, made fit to be shown."""

from __future__ import annotations

import unicodedata

_LONGEST = 200
_UNSAFE = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
"""Categories that a terminal obeys, that hide, or that turn the direction of reading."""


def make_safe_text(text: str) -> str:
    """Put a mark in place of every character that does more than stand there; cut what is long."""
    shown = "".join(
        "\N{REPLACEMENT CHARACTER}" if unicodedata.category(char) in _UNSAFE else char
        for char in text[:_LONGEST]
    )
    return f"{shown}…" if len(text) > _LONGEST else shown
