"""Arguments become an object or a reason, never something in between."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shard_jupyter.capabilities.model_providers.arguments import (
    MAX_DEPTH,
    MAX_NUMBER,
    is_whole_object,
    parse_arguments,
)

pytestmark = pytest.mark.proves("A13", "H4d.43")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-MAX_NUMBER, MAX_NUMBER) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(), VALUES, max_size=4)


@given(OBJECTS)
def test_object_comes_out_as_it_went_in(value: dict[str, object]) -> None:
    for raw in (value, json.dumps(value), json.dumps(value, ensure_ascii=False)):
        assert parse_arguments(raw) == (value, "")


@given(OBJECTS)
def test_object_encoded_twice_is_read(value: dict[str, object]) -> None:
    assert parse_arguments(json.dumps(json.dumps(value))) == (value, "")


@given(OBJECTS.filter(bool), st.data())
def test_no_cut_off_object_is_ever_read(value: dict[str, object], data: st.DataObject) -> None:
    text = json.dumps(value)
    cut = text[: data.draw(st.integers(1, len(text) - 1))]
    arguments, reason = parse_arguments(cut)
    assert arguments == {}
    assert reason.endswith("The call was not run.")
    assert not is_whole_object(cut)


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ("[1]", "a list"),
        ('"text"', "Invalid JSON"),
        ("7", "the value 7"),
        ("true", "the value true"),
        ('{"a": 1}{"a": 1}', "Extra data"),
        ('{"a": NaN}', "NaN is no JSON number"),
        ('{"a": 1e999}', "outside"),
        ('{"a": 9007199254740993}', "outside"),
        ('{"a": ' + "9" * 5000 + "}", "too large"),
        ('{"a":' * (MAX_DEPTH + 1) + "1" + "}" * (MAX_DEPTH + 1), "nested more than"),
        ("[" * 100_000, "nested too deep"),
        ("{'a': 1}", "Invalid JSON"),
    ],
)
def test_what_is_no_usable_object_says_why(raw: str, said: str) -> None:
    arguments, reason = parse_arguments(raw)
    assert arguments == {}
    assert said in reason


@pytest.mark.parametrize("raw", ["", " \n", "null", None, "{}", {}])
def test_tool_without_arguments_gets_an_empty_object(raw: object) -> None:
    assert parse_arguments(raw) == ({}, "")


@pytest.mark.parametrize("raw", ["", " "])
def test_nothing_at_the_length_limit_is_not_an_empty_object(raw: str) -> None:
    assert "length limit" in parse_arguments(raw, cut=True)[1]


@pytest.mark.proves("H4d.44")
def test_halves_of_surrogate_pairs_are_mended() -> None:
    assert parse_arguments(r'{"a\ud83d": ["\ud83d\ude42", "x\ude42"]}') == (
        {"a\ufffd": ["🙂", "x\ufffd"]},
        "",
    )
