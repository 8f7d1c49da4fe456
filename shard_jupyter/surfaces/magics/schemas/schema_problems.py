"""How a schema, and an answer that does not fit it, are refused in words."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import NoReturn

from shard_jupyter.errors import UsageError

MAX_SCHEMA_BYTES = 64 * 1024
MAX_PROBLEMS = 20
_MAX_VALUE_CHARS = 80
_MAX_REASON_CHARS = 300

Check = Callable[[str, object], object]
"""Given JSON and its value, returns the object of the answer, or raises `SchemaProblems`."""


class SchemaProblems(Exception):
    """What does not fit, one line for each place."""

    def __init__(self, *lines: str) -> None:
        super().__init__(*lines)
        self.lines = lines


def refuse_schema(name: str, why: str) -> NoReturn:
    raise UsageError(
        f"--schema {name}: {why}.",
        next_step="Name a pydantic model, a dataclass, a TypedDict, another type, or a dict that is "
        "a JSON schema.",
    )


def tell_path(path: tuple[int | str, ...]) -> str:
    """Write `("items", 0, "price")` as `items[0].price`."""
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return place.lstrip(".") or "the whole"


def tell_problem(path: tuple[int | str, ...], reason: str) -> str:
    short = reason if len(reason) <= _MAX_REASON_CHARS else f"{reason[:_MAX_REASON_CHARS]}…"
    return f"{tell_path(path)}: {short}"


def tell_value(value: object) -> str:
    """A value of the answer, as JSON and short."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = type(value).__name__
    return text if len(text) <= _MAX_VALUE_CHARS else f"{text[:_MAX_VALUE_CHARS]}…"
