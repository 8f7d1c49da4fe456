"""When a model writes the same again and again. Pure.

A penalty for repetition does not help models this small; to stop them does.
"""

from __future__ import annotations

import re

LOOP_CHARS = 96
RULER_CHARS = 160
"""For pieces without a letter or digit: a ruler in a file is shorter."""
MOST_PERIOD = 24
SENTENCE_PERIOD = 80
TIMES = 4
_WORD = re.compile(r"\w")


def is_looping(text: str, *, longest: int = MOST_PERIOD) -> bool:
    """Whether the end of `text` is one piece of at most `longest` characters, four times or more.

    Lines of a file may well be the same; sentences of an answer (`SENTENCE_PERIOD`) are not.
    """
    is_words = bool(_WORD.search(text[-longest:]))
    shortest = LOOP_CHARS if is_words else RULER_CHARS
    return any(_repeats(text, period, shortest) for period in range(1, longest + 1))


def _repeats(text: str, period: int, shortest: int) -> bool:
    tail = text[-max(shortest, TIMES * period) :]
    return len(tail) >= max(shortest, TIMES * period) and tail[period:] == tail[:-period]
