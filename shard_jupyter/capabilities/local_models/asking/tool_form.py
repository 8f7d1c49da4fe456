"""What a small model can fill in of a tool: its required arguments, where they are plain values."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from shard_jupyter.capabilities.local_models.replies.reply_reader import ANSWER
from shard_jupyter.contracts.tool import ToolSpec

MOST_TOOLS = 5
PREFERRED = ("read", "write", "bash")
FieldKind = Literal["string", "integer", "number", "boolean", "literal"]


@dataclass(frozen=True)
class FieldForm:
    """One argument. `literals`: the JSON texts that it may be, for `literal` only."""

    name: str
    kind: FieldKind
    literals: tuple[str, ...] = ()
    may_be_empty: bool = True


@dataclass(frozen=True)
class ToolForm:
    name: str
    fields: tuple[FieldForm, ...]


ANSWER_FORM = ToolForm(ANSWER, (FieldForm("text", "string", may_be_empty=False),))


def choose_tools(tools: Sequence[ToolSpec]) -> tuple[ToolSpec, ...]:
    """Take those that can be filled in, the preferred ones first; a tool `answer` is not among them."""
    usable = [tool for tool in tools if tool.name != ANSWER and read_form(tool) is not None]
    first = [tool for name in PREFERRED for tool in usable if tool.name == name]
    return (*first, *(tool for tool in usable if tool not in first))[:MOST_TOOLS]


def read_form(tool: ToolSpec) -> ToolForm | None:
    """Read the required arguments; None where one is no plain value."""
    properties = tool.input_schema.get("properties", {})
    fields: list[FieldForm] = []
    for name in tool.input_schema.get("required", ()):
        schema = properties.get(name)
        field = _read_field(name, schema) if isinstance(schema, dict) else None
        if field is None:
            return None
        fields.append(field)
    return ToolForm(tool.name, tuple(fields))


def _read_field(name: str, schema: Mapping[str, Any]) -> FieldForm | None:
    if "const" in schema:
        return _read_literals(name, [schema["const"]])
    if "enum" in schema:
        return _read_literals(name, schema["enum"])
    kind = schema.get("type")
    if kind == "string":
        return FieldForm(name, "string", may_be_empty=not schema.get("minLength"))
    if kind == "integer" or kind == "number" or kind == "boolean":
        return FieldForm(name, kind)
    return None


def _read_literals(name: str, values: object) -> FieldForm | None:
    if not isinstance(values, list) or not values:
        return None
    if not all(value is None or isinstance(value, (str, int, float)) for value in values):
        return None
    texts = tuple(json.dumps(value, ensure_ascii=False) for value in values)
    return FieldForm(name, "literal", literals=texts)
