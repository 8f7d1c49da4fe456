"""Writes values down, bounded, without running code of their classes.

Only exact types count: a subclass may override what is called here. Everything else is written as
the name of its type. Types are told apart by `id`, because a metaclass may have its own `__hash__`
and `__eq__`.
"""

from __future__ import annotations

import datetime as dt
import itertools
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from shard_jupyter.core.text.truncation import count_noun
from shard_jupyter.surfaces.magics.attachments.real_types import library_of, type_name
from shard_jupyter.types.redaction.secret_shapes import looks_secret

MAX_ITEMS = 20
MAX_DEPTH = 3
MAX_TEXT_CHARS = 200
MAX_INTEGER_BITS = 2000
MAX_SORTED = 10_000
MAX_NODES = 400


def ids_of(*kinds: type) -> frozenset[int]:
    return frozenset(id(kind) for kind in kinds)


DICTS = ids_of(dict, OrderedDict, defaultdict, Counter)
LISTS = ids_of(list, deque)
TUPLES = ids_of(tuple)
SETS = ids_of(set, frozenset)
TEXTS = ids_of(str, bytes, bytearray)

_AS_REPR = (bool, float, complex, type(None), type(...), type(NotImplemented))
_AS_TEXT = (dt.date, dt.timedelta, Decimal)
ZONES = ids_of(type(None), dt.timezone, ZoneInfo)
_LIBRARIES = frozenset({"numpy", "pandas"})
_PANDAS_SCALARS = frozenset({"Timedelta", "NaTType", "NAType", "Period"})
_ANY_ORDER = (str, int, float)


@dataclass
class Writer:
    """Writes one variable.

    Attributes:
        nodes: how many more values may be written; the bound on work for wide and deep ones.
        secret: the key of an entry that holds a secret by its name; empty when none was met.
    """

    nodes: int = MAX_NODES
    secret: str = ""

    def write(self, value: object, depth: int = 0) -> str:
        """Write `value` on one line."""
        self.nodes -= 1
        if self.nodes < 0:
            return "…"
        kind = id(type(value))
        if kind in _WRITERS:
            return _WRITERS[kind](value)
        if kind in LISTS or kind in TUPLES:
            return self._write_sequence(value, "[]" if kind in LISTS else "()", depth)
        if kind in SETS:
            return self._write_set(value, depth)
        if kind in DICTS:
            return self._write_dict(value, depth)
        return _write_other(value)

    def _write_sequence(self, value: Any, brackets: str, depth: int) -> str:  # noqa: ANN401
        if depth >= MAX_DEPTH and value:
            return f"{brackets[0]}… {count_noun(len(value), 'item')}{brackets[1]}"
        items = self._write_items(value, len(value), depth)
        if type(value) is tuple and len(value) == 1:
            items += ","
        return f"{brackets[0]}{items}{brackets[1]}"

    def _write_set(self, value: Any, depth: int) -> str:  # noqa: ANN401
        if depth >= MAX_DEPTH or not value:
            return f"{type_name(type(value))} of {count_noun(len(value), 'item')}"
        items = self._write_items(_in_order(value), len(value), depth)
        return f"{{{items}}}" if type(value) is set else f"frozenset({{{items}}})"

    def _write_items(self, values: Iterable[object], count: int, depth: int) -> str:
        items = [self.write(item, depth + 1) for item in itertools.islice(values, MAX_ITEMS)]
        return ", ".join([*items, *_rest(count)])

    def _write_dict(self, value: Any, depth: int) -> str:  # noqa: ANN401
        if depth >= MAX_DEPTH and value:
            return f"{{… {len(value):,} entries}}"
        entries = []
        for key, item in itertools.islice(dict.items(value), MAX_ITEMS):
            self.note_secret(key, item)
            entries.append(f"{self.write(key, depth + 1)}: {self.write(item, depth + 1)}")
        return f"{{{', '.join([*entries, *_rest(len(value))])}}}"

    def note_secret(self, name: object, value: object) -> None:
        """Remember `name` if it says that `value`, a text, is a key or a password."""
        if type(name) is str and id(type(value)) in TEXTS and value and looks_secret(name):
            self.secret = self.secret or name


def _rest(count: int) -> list[str]:
    return [f"… {count - MAX_ITEMS:,} more"] if count > MAX_ITEMS else []


def _in_order(value: set[object] | frozenset[object]) -> Iterable[object]:
    """The same order in every process, where that takes no code of the items' classes."""
    if len(value) <= MAX_SORTED:
        for kind in _ANY_ORDER:
            if all(type(item) is kind for item in value):
                return sorted(value)  # type: ignore[type-var] # all of one type that has an order
    return value


def write_text(text: str) -> str:
    if len(text) <= MAX_TEXT_CHARS:
        return repr(text)
    return f"{text[:MAX_TEXT_CHARS]!r}… ({len(text):,} characters)"


def _write_bytes(value: bytes | bytearray) -> str:
    if len(value) <= MAX_TEXT_CHARS:
        return repr(value)
    return f"{bytes(value[:MAX_TEXT_CHARS])!r}… ({len(value):,} bytes)"


def _write_int(value: int) -> str:
    bits = value.bit_length()
    return repr(value) if bits <= MAX_INTEGER_BITS else f"an integer of {bits:,} bits"


def _write_moment(value: Any) -> str:  # noqa: ANN401
    """A datetime or time; a zone of a foreign class would be asked for its offset."""
    zone = value.tzinfo
    if id(type(zone)) in ZONES:
        return str(value.isoformat())
    return f"{value.replace(tzinfo=None).isoformat()} ({type_name(type(zone))})"


def _write_range(value: range) -> str:
    bounds = (value.start, value.stop, value.step)
    return f"range{bounds!r}" if all(type(bound) is int for bound in bounds) else "range"


def _write_other(value: object) -> str:
    kind = type(value)
    library = library_of(kind, _LIBRARIES)
    if library == "numpy" and _is_numpy_scalar(kind):
        return _write_numpy_scalar(value)
    if library == "pandas" and kind.__name__ in _PANDAS_SCALARS:
        return str(value)
    if library == "pandas" and kind.__name__ == "Timestamp":
        return _write_moment(value)
    return f"<{type_name(kind)}>"


def _is_numpy_scalar(kind: type) -> bool:
    return any(base.__name__ == "generic" for base in kind.__mro__) and kind.__name__ not in (
        "object_",
        "void",
    )


def _write_numpy_scalar(value: Any) -> str:  # noqa: ANN401
    if type(value).__name__ in ("datetime64", "timedelta64"):
        return str(value)  # may lie beyond what Python has a type for
    plain = value.item()
    writer = _WRITERS.get(id(type(plain)))
    return writer(plain) if writer is not None else str(value)


_WRITERS: dict[int, Callable[[Any], str]] = {
    **dict.fromkeys(ids_of(*_AS_REPR), repr),
    **dict.fromkeys(ids_of(*_AS_TEXT), str),
    **dict.fromkeys(ids_of(bytes, bytearray), _write_bytes),
    **dict.fromkeys(ids_of(dt.datetime, dt.time), _write_moment),
    id(str): write_text,
    id(int): _write_int,
    id(range): _write_range,
}


def is_plain(value: object) -> bool:
    """Whether it is written with its content and not as the name of its type alone."""
    kind = id(type(value))
    if kind in _WRITERS or kind in LISTS or kind in TUPLES or kind in SETS or kind in DICTS:
        return True
    return not _write_other(value).startswith("<")
