"""What is refused of a text before any parser sees it (reference: security.md §2.5, step 1).

Parsers differ from bash most where a character is odd, so that none of those reaches one.
"""

from __future__ import annotations

import re

MAX_BYTES = 8192
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f]")
_NOT_ASCII = re.compile("[^\x00-\x7f]")
_NOTHING = re.compile(r"(?:[ \t\n]|(?:^|(?<=[ \t\n]))#[^\n]*)*")


def refuse_text(text: str) -> str:
    """Say in words why `text` is not even parsed; empty when nothing speaks against it."""
    if len(text) > MAX_BYTES:
        return f"it is longer than {MAX_BYTES} characters"
    odd = _CONTROL.search(text)
    if odd:
        return f"it holds the control character {_named(odd[0])}"
    odd = _NOT_ASCII.search(text)
    if odd:
        return f"it holds {_named(odd[0])}, which may look like something else"
    if _NOTHING.fullmatch(text):
        return "there is nothing in it to run"
    if "\\\n" in text or text.endswith("\\"):
        return "a backslash at the end of a line hides where a word ends"
    return ""


def _named(sign: str) -> str:
    return f"U+{ord(sign):04X}"
