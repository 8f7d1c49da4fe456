"""Layers merge deeply, the last one wins, and each value knows where it came from."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shard_jupyter.core.config.layers import KeyPath, Layer, Merged, merge_layers

pytestmark = pytest.mark.proves("A19")

leaves = st.none() | st.integers() | st.text(max_size=2) | st.lists(st.integers(), max_size=2)
objects = st.recursive(
    st.dictionaries(st.sampled_from("abc"), leaves, max_size=3),
    lambda inner: st.dictionaries(st.sampled_from("abc"), leaves | inner, max_size=3),
    max_leaves=8,
)
stacks = st.lists(objects, max_size=4)


def as_layers(stack: list[dict[str, Any]]) -> list[Layer]:
    return [Layer(f"layer {number}", values) for number, values in enumerate(stack)]


def walk_leaves(values: Any, path: KeyPath = ()) -> Iterator[tuple[KeyPath, Any]]:
    if isinstance(values, dict) and (values or path):
        if not values:
            yield path, values
        for key, value in values.items():
            yield from walk_leaves(value, (*path, key))
    elif path:
        yield path, values


def value_at(values: Any, path: KeyPath) -> Any:
    for part in path:
        values = values[part] if isinstance(values, dict) and part in values else KeyError
    return values


def test_objects_are_merged_and_everything_else_is_replaced() -> None:
    merged = merge_layers(
        [
            Layer("low", {"a": {"x": 1, "y": [1, 2]}, "b": 1, "c": {"z": 1}}),
            Layer("high", {"a": {"y": [3]}, "b": {"q": None}, "c": 5}),
        ]
    )
    assert merged == Merged(
        values={"a": {"x": 1, "y": [3]}, "b": {"q": None}, "c": 5},
        sources={("a", "x"): "low", ("a", "y"): "high", ("b", "q"): "high", ("c",): "high"},
    )


def test_null_is_a_value_and_an_empty_object_adds_nothing() -> None:
    merged = merge_layers(
        [Layer("low", {"a": 1, "b": {"x": 1}}), Layer("high", {"a": None, "b": {}})]
    )
    assert merged.values == {"a": None, "b": {"x": 1}}
    assert merged.sources == {("a",): "high", ("b", "x"): "low"}


def test_an_appended_list_grows_and_names_every_layer_that_added_to_it() -> None:
    layers = [Layer("one", {"r": []}), Layer("two", {"r": [1]}), Layer("three", {"r": [2]})]
    merged = merge_layers([*layers, Layer("four", {"r": []})], appended=[("r",)])
    assert merged.values == {"r": [1, 2]}
    assert merged.sources == {("r",): "two, three"}


@given(stacks)
def test_layers_are_never_changed_nor_shared(stack: list[dict[str, Any]]) -> None:
    before = copy.deepcopy(stack)
    merged = merge_layers(as_layers(stack), appended=[("a",), ("b", "a")])
    for _, leaf in walk_leaves(merged.values):
        if isinstance(leaf, list):
            leaf.append("changed")
    assert stack == before


@given(stacks)
def test_every_leaf_has_one_source_and_every_source_has_a_leaf(
    stack: list[dict[str, Any]],
) -> None:
    merged = merge_layers(as_layers(stack))
    assert set(merged.sources) == {path for path, _ in walk_leaves(merged.values)}


@given(stacks)
def test_a_leaf_is_what_its_source_says(stack: list[dict[str, Any]]) -> None:
    merged = merge_layers(as_layers(stack))
    for path, leaf in walk_leaves(merged.values):
        layer = int(merged.sources[path].removeprefix("layer "))
        assert value_at(stack[layer], path) == leaf


@given(objects, stacks)
def test_all_leaves_of_the_last_layer_hold(
    last: dict[str, Any], stack: list[dict[str, Any]]
) -> None:
    merged = merge_layers([*as_layers(stack), Layer("last", last)])
    for path, leaf in walk_leaves(last):
        if leaf != {}:
            assert value_at(merged.values, path) == leaf
            assert merged.sources[path] == "last"


@given(stacks)
def test_merging_in_two_steps_gives_the_same_values(stack: list[dict[str, Any]]) -> None:
    whole = merge_layers(as_layers(stack)).values
    first = merge_layers(as_layers(stack[:2])).values
    assert merge_layers([Layer("first", first), *as_layers(stack[2:])]).values == whole
