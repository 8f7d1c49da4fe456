r"""Schemas as local servers can compile them into a grammar. Pure.

One `pattern` with `\d` in it makes llama.cpp refuse the whole request, or ignore all schemas.
What is left out here is still checked when the call comes: by the tool itself.
"""

from __future__ import annotations

from typing import Any

from shard_jupyter.contracts.tool import ToolSpec

_KEPT = ("type", "enum", "const", "required", "description")
MAX_DEPTH = 12


def simplify_tool(tool: ToolSpec) -> ToolSpec:
    definitions = tool.input_schema.get("$defs")
    schema = _simplify(tool.input_schema, definitions if isinstance(definitions, dict) else {}, 0)
    return tool.model_copy(update={"input_schema": schema})


def _simplify(schema: object, definitions: dict[str, Any], depth: int) -> dict[str, Any]:
    """Keep type, enum, const, required, properties and items; follow references."""
    if not isinstance(schema, dict) or depth > MAX_DEPTH:  # deeper: a schema that holds itself
        return {}
    if isinstance(reference := schema.get("$ref"), str):
        return _simplify(definitions.get(reference.rpartition("/")[2]), definitions, depth + 1)
    out = {key: schema[key] for key in _KEPT if key in schema}
    if isinstance(properties := schema.get("properties"), dict):
        out["properties"] = {
            name: _simplify(part, definitions, depth + 1) for name, part in properties.items()
        }
    if "items" in schema:
        out["items"] = _simplify(schema["items"], definitions, depth + 1)
    alternatives = schema.get("anyOf") or schema.get("oneOf")
    if isinstance(alternatives, list) and "type" not in out:
        values = [part for part in alternatives if part != {"type": "null"}]
        if len(values) == 1:
            out = {**_simplify(values[0], definitions, depth + 1), **out}
    return out
