"""What a model wrote is taken for a call only when it fits the tool."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shard_jupyter.capabilities.local_models.replies.call_check import (
    CheckedCall,
    check_call,
    read_object,
)
from shard_jupyter.contracts.tool import ToolSpec

pytestmark = pytest.mark.proves("C10", "L6.3")
SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.floats(-2, 2) | st.sampled_from("ab")
TYPES = st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object"])
FIELDS = st.one_of(
    st.builds(lambda kind: {"type": kind}, TYPES),
    st.builds(lambda kinds: {"type": kinds}, st.lists(TYPES, min_size=1, max_size=2, unique=True)),
    st.builds(lambda values: {"enum": values}, st.lists(SCALARS, min_size=1, max_size=3)),
    st.builds(lambda value: {"const": value}, SCALARS),
    st.builds(lambda kind: {"type": "array", "items": {"type": kind}}, TYPES),
    st.builds(lambda kind: {"anyOf": [{"type": kind}, {"type": "null"}]}, TYPES),
)
VALUES = SCALARS | st.lists(SCALARS, max_size=2) | st.dictionaries(st.sampled_from("ab"), SCALARS)


@given(
    st.dictionaries(st.sampled_from("xyz"), FIELDS, max_size=3),
    st.lists(st.sampled_from("xyz"), max_size=2, unique=True),
    st.dictionaries(st.sampled_from("xyzw"), VALUES, max_size=3),
)
def test_it_judges_as_json_schema_does(
    properties: dict[str, Any], required: list[str], arguments: dict[str, Any]
) -> None:
    schema = {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }
    checked = check_call("t", arguments, [ToolSpec(name="t", description="", input_schema=schema)])
    if any(isinstance(value, float) and value.is_integer() for value in _walk(arguments)):
        return  # `2.0` is an integer for JSON Schema; here it is none
    fits = jsonschema.Draft202012Validator(schema).is_valid(arguments)
    assert isinstance(checked, CheckedCall) == fits, checked


def _walk(value: Any) -> list[Any]:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [value, *(found for part in parts for found in _walk(part))]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '"x"',
        "{} {}",
        '{"a": 1, "a": 1}',
        '{"a": [{"b": 1, "b": 2}]}',
        '{"a": NaN}',
        '{"a": Infinity}',
        '{"a": 9007199254740993}',
        '{"a": 1e999}',
        '{"a": "\\udc00"}',
        '{"\\ud800": 1}',
        '{"a": ' + "[" * 60 + "]" * 60 + "}",
        '{"a": ' + "[" * 100_000,
        '{"a": ' + "9" * 5_000 + "}",
    ],
)
def test_what_no_part_of_the_system_could_carry_is_refused(text: str) -> None:
    assert read_object(text) is None


def test_a_pair_of_surrogates_is_one_character() -> None:
    assert read_object('{"a": "\\ud83d\\ude42"}') == {"a": "🙂"}


@pytest.mark.parametrize("arguments", [None, [], "x", 3])
def test_arguments_are_an_object(arguments: Any) -> None:
    spec = ToolSpec(name="t", description="", input_schema={})
    assert check_call("t", arguments, [spec]) == "its arguments are no object"


def test_a_tool_that_was_not_offered_is_named_as_that() -> None:
    assert check_call("t", {}, []) == "it calls no tool that was offered"
    assert check_call(None, {}, []) == "it calls no tool that was offered"


@given(st.text(max_size=40) | st.binary(max_size=20).map(lambda data: data.decode("latin-1")))
def test_no_text_makes_it_raise(text: str) -> None:
    value = read_object(text)
    assert value is None or isinstance(json.loads(text), dict)
