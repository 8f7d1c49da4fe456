"""How keys and tokens are recognised, by name or by shape, where text leaves this machine. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

_SHORTEST_SECRET = 8
_SECRET_NAME = re.compile(
    r"(^|[_\-.])(key|token|secret|password|passwd|passphrase|credentials?|authorization)s?($|[_\-.\d])"
    r"|api_?key",
    re.IGNORECASE,
)
SECRET_SHAPES = (
    r"sk-[A-Za-z0-9_-]{16,}",
    r"gh[pousr]_[A-Za-z0-9]{30,}",
    r"github_pat_[A-Za-z0-9_]{30,}",
    r"glpat-[A-Za-z0-9_-]{20,}",
    r"xox[abeprs]-[A-Za-z0-9-]{10,}",
    r"hf_[A-Za-z0-9]{30,}",
    r"AIza[A-Za-z0-9_-]{35}",
    r"A(?:KIA|SIA)[A-Z0-9]{16}",
    r"eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{5,}",
    r"(?<=[Bb]earer )[A-Za-z0-9._~+/=-]{16,}",
    r"(?<=://)[^\s/:@]*:[^\s/]+(?=@)",
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----",
)
"""Patterns, to be compiled with DOTALL, of secrets that their issuer made recognisable."""


def looks_secret(name: str) -> bool:
    return _SECRET_NAME.search(name) is not None


def find_secrets(*sources: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values in environments or settings whose names look secret, longest first."""
    values = {
        value.strip()
        for source in sources
        for name, value in source.items()
        if looks_secret(name) and len(value.strip()) >= _SHORTEST_SECRET
    }
    return tuple(sorted(values, key=lambda value: (-len(value), value)))
