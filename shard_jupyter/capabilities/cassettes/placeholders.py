"""What must not stand in a cassette: secrets, this machine's paths, ids made by chance. Pure.

`hide` puts a placeholder in braces for each; `show` puts back this run's own paths and ids, so
that a recorded answer fits where it is played. Secrets are never put back. Text that only looks
like a path or id placeholder gets double braces on the way; a path or id that stood in braces
itself is told from that by a sign, `{{=cwd}}`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from shard_jupyter.types.ids import new_id
from shard_jupyter.types.redaction.secret_shapes import SECRET_SHAPES, find_secrets, looks_secret

__all__ = ["SECRET", "Numbering", "Placeholders", "find_secrets", "looks_secret", "map_strings"]

SECRET = "{secret}"  # noqa: S105 - what stands in place of one
SIGN = "="
_ID = re.compile(r"\b([a-z]{2,16})-[0-9a-hjkmnp-tv-z]{26}\b")
_ID_NAME = r"[a-z]{2,16}-\d+"


class Placeholders:
    """Knows the paths and secrets of one run. Ids are numbered by a `Numbering` per request.

    Attributes:
        places: absolute paths by name, such as `{"cwd": "/data/demo"}`.
    """

    def __init__(self, places: Mapping[str, str], secrets: Iterable[str] = ()) -> None:
        named = {name: path.rstrip("/") for name, path in places.items() if path.rstrip("/")}
        # The longest counts; of two names for one folder always the same one.
        self.places = dict(sorted(named.items(), key=lambda item: (-len(item[1]), item[0])))
        names = "|".join([_ID_NAME, *map(re.escape, self.places)])
        self._literal = re.compile(rf"\{{({SIGN}*)({names})\}}")
        self._shown = re.compile(rf"\{{\{{({names})\}}\}}|\{{({SIGN}*)({names})\}}")
        shapes = [*map(re.escape, secrets), *SECRET_SHAPES]
        self._secret = re.compile("|".join(shapes), re.DOTALL)
        self._place = _alternatives(self.places)

    def hide(self, text: str, numbering: Numbering) -> str:
        text = self._literal.sub(_escape, text)
        text = self._secret.sub(SECRET, text)
        if self._place is not None:
            text = self._place.sub(lambda found: _brace(found, str(found.lastgroup)), text)
        return _ID.sub(lambda found: _brace(found, numbering.name(found.group(), found[1])), text)

    def show(self, text: str, numbering: Numbering) -> str:
        def put_back(found: re.Match[str]) -> str:
            if found[1] is not None:
                return f"{{{found[1]}}}"
            signs, name = found[2], found[3]
            if len(signs) > len(SIGN):
                return f"{{{signs.removeprefix(SIGN)}{name}}}"
            return self.places.get(name) or numbering.id_of(name)

        return self._shown.sub(put_back, text)


def _escape(found: re.Match[str]) -> str:
    signs, name = found[1], found[2]
    return f"{{{SIGN}{signs}{name}}}" if signs else f"{{{{{name}}}}}"


def _brace(found: re.Match[str], name: str) -> str:
    """Write a placeholder; beside a brace of the text, with the sign."""
    before, after = found.string[: found.start()][-1:], found.string[found.end() :][:1]
    return f"{{{SIGN if before == '{' or after == '}' else ''}{name}}}"


class Numbering:
    """Gives ids small numbers in the order in which they are met: the same in every run."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._ids: dict[str, str] = {}

    def name(self, identifier: str, prefix: str) -> str:
        """Return its name, `call-1`; the next free number at its first use."""
        if identifier not in self._names:
            self._add(identifier, f"{prefix}-{len(self._names) + 1}")
        return self._names[identifier]

    def braced(self, identifier: str, prefix: str) -> str:
        return f"{{{self.name(identifier, prefix)}}}"

    def id_of(self, name: str) -> str:
        """Return the id that a recorded name has in this run; a new one at its first use."""
        if name not in self._ids:
            self._add(new_id(name.rpartition("-")[0]), name)
        return self._ids[name]

    def _add(self, identifier: str, name: str) -> None:
        self._names[identifier] = name
        self._ids[name] = identifier


def map_strings(value: Any, change: Callable[[str], str]) -> Any:  # noqa: ANN401 - any JSON value
    """Apply `change` to every string of a JSON value, keys included."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(key): map_strings(part, change) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [map_strings(part, change) for part in value]
    return value


def _alternatives(places: Mapping[str, str]) -> re.Pattern[str] | None:
    """Match a path where it stands as a whole, not as the start or end of a longer name."""
    if not places:
        return None
    paths = "|".join(f"(?P<{name}>{re.escape(path)})" for name, path in places.items())
    return re.compile(rf"(?<![A-Za-z0-9_.-])(?:{paths})(?![A-Za-z0-9_-])")
