"""Identifiers: opaque, typed by prefix, sortable by the moment they were made.

`agent-01jd0…`: a prefix that says what it names and 26 Crockford base-32 characters, of which the
first ten are milliseconds. Order of history is never derived from them (it is file order).
"""

from __future__ import annotations

import os
import time
from typing import Annotated

from pydantic import StringConstraints

ID_PATTERN = r"^[A-Za-z0-9_-]{1,64}\Z"
Id = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$", strict=True)]

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


def new_id(prefix: str) -> str:
    """Make an id. 80 random bits come from the system, so a fork cannot repeat its parent."""
    number = (time.time_ns() // 1_000_000) << 80 | int.from_bytes(os.urandom(10))
    digits = []
    for _ in range(26):
        digits.append(_ALPHABET[number & 31])
        number >>= 5
    return f"{prefix}-{''.join(reversed(digits))}"
