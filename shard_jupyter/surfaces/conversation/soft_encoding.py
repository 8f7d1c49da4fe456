"""Write to a stream whose encoding lacks characters. Nothing is imported here that takes time."""

from __future__ import annotations

import codecs
from typing import TextIO

_PLAIN = "shard_plain"
_PLAIN_MARKS = {
    "…": "...", "·": "-", "▸": ">", "│": "|", "→": "->", "“": '"', "”": '"', "⏎": "|",
    "✓": "+", "✗": "x", "◆": "?", "⊘": "!", "■": "#", "◔": "~", "◌": "o",
}  # fmt: skip


def soften_encoding(*streams: TextIO) -> None:
    """Let a stream write every character; none is refused.

    For one that its encoding lacks stands a plain one where there is such a one, else its escape.
    """
    codecs.register_error(_PLAIN, _write_plain)
    for stream in streams:
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors=_PLAIN)


def _write_plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(_PLAIN_MARKS.get(each) or _escape(each) for each in lacking), error.end


def _escape(character: str) -> str:
    return character.encode("ascii", "backslashreplace").decode("ascii")
