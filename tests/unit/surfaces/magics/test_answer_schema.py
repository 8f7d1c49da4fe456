"""`--schema`: what may be one, and how an answer is read into an object."""

from __future__ import annotations

import socket
import sys
import typing
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from typing_extensions import TypedDict

from shard_jupyter.errors import AnswerMismatch, UsageError
from shard_jupyter.surfaces.magics.answer_schema import AnswerSchema

pytestmark = pytest.mark.proves("D02")


class Item(BaseModel):
    name: str
    price: float


class Report(BaseModel):
    items: list[Item]


@dataclass
class Point:
    x: int
    y: int = 0


class Named(TypedDict):
    name: str


OBJECT = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}


def schema_of(value: object) -> AnswerSchema:
    return AnswerSchema.find_schema({"Wanted": value}, "Wanted")


def mismatch(value: object, answer: str) -> AnswerMismatch:
    with pytest.raises(AnswerMismatch) as error:
        schema_of(value).read(answer)
    assert str(error.value).startswith("The answer does not fit --schema Wanted: ")
    return error.value


@pytest.mark.parametrize(
    ("value", "answer", "expected"),
    [
        (Report, '{"items":[{"name":"a","price":1}]}', Report(items=[Item(name="a", price=1)])),
        (Point, '{"x": 1}', Point(1)),
        (Named, '{"name": "a"}', {"name": "a"}),
        (list[int], " [1, 2]\n", [1, 2]),
        (Literal["yes", "no"], '"yes"', "yes"),
        (int | None, "null", None),
        (dict[str, list[float]], '{"a": [1, 2.5]}', {"a": [1.0, 2.5]}),
        (OBJECT, '{"a": 1, "b": 2}', {"a": 1, "b": 2}),
        ({}, "[true]", [True]),
        ({"$schema": "http://json-schema.org/draft-07/schema#", "type": "string"}, '"x"', "x"),
        ({"$ref": "#/$defs/n", "$defs": {"n": {"type": "integer"}}}, "5", 5),
    ],
)
def test_an_answer_that_fits_becomes_an_object(
    value: object, answer: str, expected: object
) -> None:
    schema = schema_of(value)
    assert schema.read(answer) == expected
    assert schema.read(f"Done.\n```json\n{answer}\n```\nAnything else?") == expected
    assert schema.read(f"~~~\nno\n~~~\n\n~~~~\n{answer}\n~~~~") == expected
    assert schema.read(f"```\n{answer}") == expected


@pytest.mark.parametrize(
    ("value", "answer", "problem"),
    [
        (Report, '{"items":[{"name":"a","price":"1"}]}', 'items[0].price: Input should be a valid number, not "1"'),
        (Report, '{"items":[{"price":1}]}', "items[0].name: Field required"),
        (Report, "[]", "the whole: "),
        (Point, '{"x": "1"}', 'x: Input should be a valid integer, not "1"'),
        (list[int], "[1.5]", "[0]: Input should be a valid integer, not 1.5"),
        (OBJECT, '{"a": "x"}', "a: 'x' is not of type 'integer'"),
        (OBJECT, "{}", "the whole: 'a' is a required property"),
        (OBJECT, "", "it is empty"),
        (OBJECT, "I did it.", "has no fenced block with JSON"),
        (OBJECT, "x\n```\nno\n```", "its last fenced block is no JSON"),
        (OBJECT, '```\n{"a": 1}\n```\n```\nno\n```', "its last fenced block is no JSON"),
        (OBJECT, '{"a": NaN}', "NaN is no JSON"),
        (OBJECT, '{"a": 1, "a": 2}', "the key 'a' stands twice in one object"),
        (OBJECT, "[" * 100_000, "nested too deeply"),
        (OBJECT, "[" + " " * (4 << 20), "it is longer than"),
    ],
)  # fmt: skip
def test_an_answer_that_does_not_fit_says_where_and_why(
    value: object, answer: str, problem: str
) -> None:
    error = mismatch(value, answer)
    assert problem in error.problems[0]
    assert problem in error.message
    assert problem in schema_of(value).correction(error)
    assert len(str(error)) < 600


def test_all_problems_are_told_to_the_model_and_bounded() -> None:
    error = mismatch(list[int], '["a", "b", "c"]')
    assert len(error.problems) == 3
    assert error.message.endswith("(and 2 more)")
    assert schema_of(list[int]).correction(error).count("\n- ") == 3
    assert len(mismatch(list[int], str(["a"] * 999).replace("'", '"')).problems) == 20


def test_an_answer_is_not_bent_to_fit() -> None:
    assert mismatch(bool, '"true"')
    assert mismatch(int, '"5"')
    assert mismatch(str, "5")


def test_the_model_is_told_the_schema() -> None:
    text = schema_of(Report).instructions()
    assert text.startswith("\n\nWhen the work is done, answer with JSON alone")
    assert '"price": {' in text
    assert text == schema_of(Report).instructions()


class Odd:
    pass


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (5, "it is a value (int), not a type"),
        ("Report", "it is a value (str), not a type"),
        (None, "it is a value (NoneType), not a type"),
        ([int], "it is a value (list), not a type"),
        (Odd, "it cannot be a schema: "),
        (len, "it cannot be a schema: "),
        ({"type": "objct"}, "it is no JSON schema (type: "),
        ({"pattern": "("}, "it is no JSON schema (pattern: "),
        ({1: 2, "x": {3}}, "it is no JSON ("),
        ({"const": float("nan")}, "it is no JSON ("),
        ({"enum": ["x" * 70_000]}, "it is longer than 64 kB"),
        ({"$ref": "https://example.org/s.json"}, "nothing is fetched from elsewhere"),
        (
            {"properties": {"a": {"$ref": "file:///etc/passwd"}}},
            "nothing is fetched from elsewhere",
        ),
        ({"items": {"$dynamicRef": "other.json#x"}}, "nothing is fetched from elsewhere"),
        ({"properties": {"a": {"$ref": "#/$defs/no"}}}, "which is not in it"),
        ({"$ref": "#no-such-anchor"}, "which is not in it"),
        ({"$ref": "#"}, "it refers to itself without end"),
    ],
)
def test_what_is_no_schema_is_refused_in_words(value: object, why: str) -> None:
    with pytest.raises(UsageError) as refused:
        schema_of(value)
    assert refused.value.message.startswith("--schema Wanted: ")
    assert why in refused.value.message
    assert "pydantic model" in refused.value.next_step


@pytest.mark.skipif(
    sys.version_info >= (3, 12), reason="pydantic reads that of typing from 3.12 on"
)
def test_a_typed_dict_that_cannot_be_read_says_which_one_can() -> None:
    old = typing.TypedDict("old", {"name": str})
    with pytest.raises(
        UsageError, match="before Python 3.12 a TypedDict must be that of typing_ex"
    ):
        schema_of(old)


def test_a_built_in_type_needs_no_variable_and_gives_way_to_one() -> None:
    assert AnswerSchema.find_schema({}, "list").read("[1]") == [1]
    assert AnswerSchema.find_schema({"list": int}, "list").read("1") == 1
    with pytest.raises(UsageError, match="there is no variable of this name"):
        AnswerSchema.find_schema({}, "print")


def test_nothing_is_ever_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> NoReturn:
        raise AssertionError("a connection was made")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    nested = {"$id": "http://example.org/root.json", "properties": {"a": {"$ref": "#/$defs/n"}}}
    schema = schema_of(nested | {"$defs": {"n": {"type": "integer"}}})
    assert schema.read('{"a": 1}') == {"a": 1}
    inner = {"properties": {"a": {"$id": "http://example.org/b.json", "$ref": "#only-there"}}}
    with pytest.raises(UsageError, match="which is not in it"):
        schema_of(inner).read('{"a": 1}')


def test_a_name_without_a_variable_is_refused() -> None:
    with pytest.raises(UsageError, match="there is no variable of this name"):
        AnswerSchema.find_schema({}, "Wanted")


def test_a_schema_keeps_its_meaning_when_the_dict_is_changed() -> None:
    value: dict[str, Any] = {"type": "integer"}
    schema = schema_of(value)
    value["type"] = "string"
    assert schema.read("5") == 5


@given(st.text())
def test_any_answer_is_read_or_refused(text: str) -> None:
    schema = schema_of({"type": "object"})
    try:
        assert isinstance(schema.read(text), dict)
    except AnswerMismatch as error:
        assert error.problems  # noqa: PT017 - either way is right
