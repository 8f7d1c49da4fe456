"""Whether a call that a model wrote may be taken for one. Pure.

Engines promise that a constrained reply fits, and do not always keep it: every reply is checked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from shard_jupyter.contracts.tool import ToolSpec

MAX_DEPTH = 48
"""Below the protocol's 64, because arguments travel inside events."""
MAX_NUMBER = 2**53 - 1
_SURROGATE = re.compile("[\ud800-\udfff]")
_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,),
    "array": (list,), "object": (dict,), "null": (type(None),),
}  # fmt: skip


@dataclass(frozen=True)
class CheckedCall:
    name: str
    arguments: dict[str, Any]


def read_object(text: str) -> dict[str, Any] | None:
    """Read text that is exactly one JSON object which every part of the system can carry."""
    try:
        value = json.loads(text, parse_constant=_refuse, object_pairs_hook=_make_object)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and _is_fit(value, 1) else None


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


def _make_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a key that stands twice: who reads the text may see the other one."""
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key stands twice")
    return made


def _is_fit(value: object, depth: int) -> bool:
    if isinstance(value, str):
        return not _SURROGATE.search(value)
    if isinstance(value, (int, float)):
        return abs(value) <= MAX_NUMBER
    if isinstance(value, dict):
        return depth <= MAX_DEPTH and all(
            _is_fit(key, depth) and _is_fit(part, depth + 1) for key, part in value.items()
        )
    if isinstance(value, list):
        return depth <= MAX_DEPTH and all(_is_fit(part, depth + 1) for part in value)
    return True


def check_call(name: object, arguments: object, tools: Sequence[ToolSpec]) -> CheckedCall | str:
    """Return the call, or what is wrong with it in words."""
    tool = next((tool for tool in tools if tool.name == name), None)
    if tool is None:
        return "it calls no tool that was offered"
    if not isinstance(arguments, dict):
        return "its arguments are no object"
    problem = _find_problem(arguments, tool.input_schema, "the arguments")
    known = tool.input_schema.get("properties")
    if (
        not problem
        and isinstance(known, dict)
        and (more := [k for k in arguments if k not in known])
    ):
        problem = f"there is no argument {more[0]!r}"
    return problem or CheckedCall(tool.name, arguments)


def _find_problem(value: object, schema: object, where: str) -> str:
    """Look at type, required, enum and const; what else a schema asks for is the tool's to check."""
    if not isinstance(schema, dict):
        return ""
    if "const" in schema and not _is_same(value, schema["const"]):
        return f"{where} has another value"
    choices = schema.get("enum")
    if isinstance(choices, list) and not any(_is_same(value, choice) for choice in choices):
        return f"{where} has a value that is not offered"
    if not _has_type(value, schema.get("type")):
        return f"{where} has the wrong type"
    if isinstance(alternatives := schema.get("anyOf"), list) and all(
        _find_problem(value, alternative, where) for alternative in alternatives
    ):
        return f"{where} has the wrong type"
    if isinstance(value, list):
        items = schema.get("items")
        return next(filter(None, (_find_problem(part, items, where) for part in value)), "")
    return _find_in_object(value, schema) if isinstance(value, dict) else ""


def _find_in_object(value: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    for name in schema.get("required", ()):
        if name not in value:
            return f"the argument {name!r} is missing"
    properties = schema.get("properties")
    known = properties if isinstance(properties, dict) else {}
    for name, part in value.items():
        if problem := _find_problem(part, known.get(name), f"the argument {name!r}"):
            return problem
    return ""


def _has_type(value: object, wanted: object) -> bool:
    names = wanted if isinstance(wanted, list) else [wanted]
    types = [_TYPES[name] for name in names if isinstance(name, str) and name in _TYPES]
    if not types:
        return True
    if isinstance(value, bool):
        return (bool,) in types
    return any(isinstance(value, kinds) for kinds in types)


def _is_same(value: object, other: object) -> bool:
    """Compare as JSON does: there, `true` is not 1."""
    return isinstance(value, bool) == isinstance(other, bool) and value == other
