"""Show what text holds, whatever it holds. Pure.

A terminal obeys control characters, and a reader is misled by what has no width or turns the
direction of writing. All of them become a mark with their number, `⟨U+202E⟩`, which does nothing.
Line feed and tab stay. Joiners inside emoji are marked too: nothing invisible passes. What a person
is asked to allow is shown more strictly: `words/exact_text.py`.
"""

from __future__ import annotations

import re
import unicodedata

# By number, not by Unicode category: `Cf` also holds visible signs of Arabic and other scripts.
_MARKED = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 without tab and line feed, delete, C1
    "\xad\u034f\u061c"  # soft hyphen, grapheme joiner, Arabic letter mark
    "\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0"  # fillers and selectors without a shape
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f"  # zero width, separators, direction, operators
    "\ud800-\udfff"  # halves of a pair, which cannot be written at all
    "\ufe00-\ufe0f\ufeff\ufff0-\ufffb"  # selectors, byte order mark, notes
    "\U00013430-\U0001343f"  # joiners of hieroglyphs
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"  # shorthand and music formatting
    "\U000e0000-\U000e0fff"  # tags and further selectors: text that only a model reads
    "]"
)


def make_visible(text: str) -> str:
    """Replace every character that a terminal would obey or a reader would not see."""
    return _MARKED.sub(_mark, text)


def make_visible_line(text: str) -> str:
    """Do the same for a name or label, which must stay on its line."""
    return make_visible(text).replace("\n", "⏎").replace("\t", " ")


def mark(character: str) -> str:
    return f"⟨U+{ord(character):04X}⟩"


def _mark(match: re.Match[str]) -> str:
    return match[0] if _is_of_emoji(match) else mark(match[0])


def _is_of_emoji(match: re.Match[str]) -> bool:
    """The two selectors of emoji stay where a sign, or nothing of this text, stands before them."""
    if match[0] not in "\ufe0e\ufe0f":
        return False
    before, after = match.string[: match.start()][-1:], match.string[match.end() :][:1]
    is_keycap = before in "0123456789#*" and after == "\u20e3"
    return not before or is_keycap or unicodedata.category(before) in ("So", "Sm", "Po")
