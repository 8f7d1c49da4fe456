"""How many tokens a text may be, and whether a server used all of a prompt. Pure.

Some servers drop the front of a prompt that is too long and answer as if nothing had happened.
"""

from __future__ import annotations

PROMPT_CUT = (
    "The local server used only {used} tokens of a prompt of at least {sent}: its beginning was "
    "dropped, so the answer may miss what was asked."
)


def least_tokens(text: str) -> int:
    """Fewer tokens than any tokenizer makes of it: a word is at least one, long blanks may be."""
    return len(text.split()) * 9 // 10


def find_cut(sent: int, used: int | None) -> str:
    """Say that a prompt of at least `sent` tokens was not used in full; empty when it was."""
    if used is None or used >= sent:
        return ""
    return PROMPT_CUT.format(used=used, sent=sent)


def count_chars(text: str, tokens: int) -> int:
    """Return how much of the start of `text` is at most about so many tokens.

    Letters and blanks of ASCII make three to a token or more; a digit or a mark may be one by
    itself, and of other scripts two bytes of three.
    """
    left = 3 * tokens
    for place, char in enumerate(text):
        if char.isascii():
            left -= 1 if char.isalpha() or char == " " else 3
        else:
            left -= 2 * len(char.encode("utf-8", "replace"))
        if left < 0:
            return place
    return len(text)
