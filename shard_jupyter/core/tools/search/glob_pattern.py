"""Globs over relative paths: `*` and `?` stay in one name, `**` spans folders, `{a,b}` chooses."""

from __future__ import annotations

import re
from fnmatch import translate
from functools import lru_cache

MAX_ALTERNATIVES = 64
_BRACES = re.compile(r"\{([^{}]*)\}")


class GlobPattern:
    """One compiled glob. Without a slash it is matched against the last name only."""

    def __init__(self, glob: str) -> None:
        self._variants = [tuple(variant.split("/")) for variant in expand_braces(glob.strip("/"))]

    def matches(self, path: str) -> bool:
        parts = tuple(path.split("/"))
        return any(
            _match_parts(variant, parts if len(variant) > 1 else parts[-1:])
            for variant in self._variants
        )


def expand_braces(glob: str) -> list[str]:
    """At most `MAX_ALTERNATIVES` globs without braces."""
    done: list[str] = []
    waiting = [glob]
    while waiting and len(done) + len(waiting) <= MAX_ALTERNATIVES:
        item = waiting.pop(0)
        braces = _BRACES.search(item)
        if braces is None:
            done.append(item)
            continue
        before, after = item[: braces.start()], item[braces.end() :]
        waiting[:0] = [f"{before}{choice}{after}" for choice in braces[1].split(",")]
    return [*done, *waiting][:MAX_ALTERNATIVES]


def _match_parts(globs: tuple[str, ...], parts: tuple[str, ...]) -> bool:
    """Which prefixes of the path are reachable after each glob; linear in both, no backtracking."""
    reachable = {0}
    for glob in globs:
        if glob == "**":
            reachable = set(range(min(reachable), len(parts) + 1)) if reachable else set()
        else:
            test = _compiled(glob)
            reachable = {at + 1 for at in reachable if at < len(parts) and test.match(parts[at])}
    return len(parts) in reachable


@lru_cache(maxsize=256)
def _compiled(glob: str) -> re.Pattern[str]:
    return re.compile(translate(glob))
