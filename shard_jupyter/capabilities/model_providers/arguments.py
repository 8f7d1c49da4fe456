"""A call's arguments, from whatever a server sent to an object, or the reason why not. Pure.

What is not certainly an object is never turned into one: `{}` in place of cut-off arguments has
made other harnesses run a command that nobody asked for.
"""

from __future__ import annotations

import json
from typing import Any, NoReturn

from shard_jupyter.capabilities.model_providers.unicode_repair import mend_json

MAX_DEPTH = 48
"""Below the protocol's 64, because arguments travel inside events."""
MAX_NUMBER = 2**53 - 1


class _Unusable(ValueError):
    """Carries the reason in words for the model."""


def parse_arguments(raw: object, *, cut: bool = False) -> tuple[dict[str, Any], str]:
    """Return `(arguments, "")`, or `({}, reason)` when they cannot be read.

    `raw` is the text, or an object where the server sent one. `cut` says that the answer ended
    at its length limit inside this call, so that no text means "not written yet".
    """
    try:
        return _read_object(raw, cut=cut), ""
    except _Unusable as reason:
        return {}, f"{reason} The call was not run."


def is_whole_object(text: str) -> bool:
    """Whether `text` is already all of an object, so that nothing can follow it.

    An object that was encoded twice counts, as it does where arguments are read.
    """
    if not text.rstrip().endswith(("}", '"')):
        return False
    try:
        value = json.loads(text)
        return isinstance(json.loads(value) if isinstance(value, str) else value, dict)
    except (ValueError, RecursionError):
        return False


def _read_object(raw: object, *, cut: bool) -> dict[str, Any]:
    value = _loads(raw, cut=cut) if isinstance(raw, str) else raw
    if isinstance(value, str):  # some servers encode the object twice
        value = _loads(value, cut=cut)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _Unusable(f"The arguments are {_name_kind(value)}, not a JSON object.")
    _check_limits(value, 1)
    mended: dict[str, Any] = mend_json(value)
    return mended


def _loads(text: str, *, cut: bool) -> object:
    if not text.strip():
        if cut:
            raise _Unusable("The answer reached its length limit before the arguments came.")
        return None
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except _Unusable:
        raise
    except RecursionError:
        raise _Unusable("The arguments are nested too deep.") from None
    except json.JSONDecodeError as error:
        why = "The answer reached its length limit inside the arguments" if cut else "Invalid JSON"
        raise _Unusable(f"{why}: {error.msg} at character {error.pos} of {len(text)}.") from None
    except ValueError:  # an integer with thousands of digits
        raise _Unusable("A number in the arguments is too large.") from None


def _refuse_constant(name: str) -> NoReturn:
    raise _Unusable(f"Invalid JSON: {name} is no JSON number.")


def _name_kind(value: object) -> str:
    if isinstance(value, str):
        return "a string"
    return "a list" if isinstance(value, list) else f"the value {json.dumps(value)}"


def _check_limits(value: object, depth: int) -> None:
    if isinstance(value, (int, float)) and abs(value) > MAX_NUMBER:
        raise _Unusable("A number in the arguments is outside ±(2^53-1).")
    if not isinstance(value, (dict, list)):
        return
    if depth > MAX_DEPTH:
        raise _Unusable(f"The arguments are nested more than {MAX_DEPTH} deep.")
    for part in value.values() if isinstance(value, dict) else value:
        _check_limits(part, depth + 1)
