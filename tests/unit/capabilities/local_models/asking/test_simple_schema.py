"""Schemas lose what no grammar can be made of, and keep what a call must fit."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shard_jupyter.capabilities.local_models.asking.simple_schema import simplify_tool
from shard_jupyter.contracts.tool import ToolSpec

pytestmark = pytest.mark.proves("L6.7")
ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda part: (
        st.lists(part, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "pattern", "format", "$ref", "$defs", "properties", "items", "anyOf",
                 "oneOf", "enum", "required", "x"]
            ),
            part,
            max_size=4,
        )
    ),
    max_leaves=12,
)  # fmt: skip


def simplified(schema: dict[str, Any]) -> dict[str, Any]:
    return simplify_tool(ToolSpec(name="t", description="", input_schema=schema)).input_schema


@given(st.dictionaries(st.sampled_from(["type", "properties", "items", "anyOf", "$ref"]), ODD))
def test_no_schema_makes_it_raise_and_nothing_forbidden_is_left(schema: dict[str, Any]) -> None:
    keys = set(_keys_of(simplified(schema)))
    assert not keys & {"pattern", "format", "$ref", "$defs", "anyOf", "oneOf"}


def _keys_of(schema: Any) -> list[str]:
    """Keywords, not names of arguments."""
    if not isinstance(schema, dict):
        return []
    found = list(schema)
    for part in (schema.get("properties") or {}).values():
        found += _keys_of(part)
    return found + _keys_of(schema.get("items"))


def test_a_schema_that_holds_itself_comes_to_an_end() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}
    out = simplified({**node, "$defs": {"Node": node}})
    assert json.dumps(out).count('"next"') < 12


def test_a_reference_to_nothing_allows_anything() -> None:
    assert simplified({"properties": {"a": {"$ref": "#/$defs/Gone"}}}) == {"properties": {"a": {}}}
