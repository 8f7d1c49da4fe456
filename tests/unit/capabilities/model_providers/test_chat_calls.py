"""Which call a delta belongs to, when servers say little or say it wrong."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shard_jupyter.capabilities.model_providers.answer_assembly import AnswerAssembly
from shard_jupyter.capabilities.model_providers.chat_calls import ChatCalls
from shard_jupyter.types.usage import TokenUsage

pytestmark = pytest.mark.proves("A13")
Delta = dict[str, Any]


def head(name: str = "read", arguments: Any = "", **fields: Any) -> Delta:
    return {**fields, "function": {"name": name, "arguments": arguments}}


def tail(arguments: str, **fields: Any) -> Delta:
    return {**fields, "function": {"arguments": arguments}}


def assemble(*deltas: Delta) -> list[tuple[str, str, dict[str, Any]]]:
    numbers = count(1)
    assembly = AnswerAssembly("openai:m", lambda: f"call-{next(numbers)}")
    calls = ChatCalls(assembly)
    for delta in deltas:
        calls.take(delta)
    blocks = assembly.answered("end", TokenUsage()).message.tool_calls
    assert len({block.call_id for block in blocks}) == len(blocks)
    return [
        (block.vendor_id, block.name, block.arguments if not block.arguments_error else {"!": 1})
        for block in blocks
    ]


@pytest.mark.proves("H4d.36")
class TestNoIndex:
    def test_new_id_starts_a_call(self) -> None:
        assert assemble(head(id="a"), tail('{"n":1}'), head(id="b"), tail('{"n":2}')) == [
            ("a", "read", {"n": 1}),
            ("b", "read", {"n": 2}),
        ]

    def test_new_name_starts_a_call(self) -> None:
        assert assemble(head("read"), tail('{"n":1}'), head("write"), tail('{"n":2}')) == [
            ("", "read", {"n": 1}),
            ("", "write", {"n": 2}),
        ]

    def test_same_name_after_whole_arguments_starts_a_call(self) -> None:
        assert assemble(head("read", '{"n":1}'), head("read", '{"n":2}')) == [
            ("", "read", {"n": 1}),
            ("", "read", {"n": 2}),
        ]

    def test_same_name_after_whole_arguments_that_were_encoded_twice_starts_a_call(self) -> None:
        assert assemble(head("read", '"{\\"n\\":1}"'), head("read", '"{\\"n\\":2}"')) == [
            ("", "read", {"n": 1}),
            ("", "read", {"n": 2}),
        ]

    def test_tail_without_anything_is_the_current_call(self) -> None:
        assert assemble(head(id="a"), tail('{"n"'), tail(":1}")) == [("a", "read", {"n": 1})]

    def test_name_repeated_in_each_delta_is_one_call(self) -> None:
        assert assemble(head("read", '{"n', id="a"), head("read", '":1}', id="a")) == [
            ("a", "read", {"n": 1})
        ]


@pytest.mark.proves("H4d.37")
class TestWrongIndex:
    def test_new_id_never_merges_whatever_its_index(self) -> None:
        assert assemble(
            head(id="a", index=0),
            tail('{"n":1}', index=0),
            head(id="b", index=0),
            tail('{"n":2}', index=1),
        ) == [("a", "read", {"n": 1}), ("b", "read", {"n": 2})]

    def test_known_id_wins_over_the_index(self) -> None:
        assert assemble(
            head(id="a", index=0),
            head(id="b", index=1),
            tail('{"n":1}', id="a", index=1),
            tail('{"n":2}', id="b", index=0),
        ) == [("a", "read", {"n": 1}), ("b", "read", {"n": 2})]

    def test_interleaved_tails_go_by_their_right_index(self) -> None:
        assert assemble(
            head(id="a", index=0),
            head(id="b", index=1),
            tail('{"n":', index=0),
            tail('{"n":', index=1),
            tail("1}", index=0),
            tail("2}", index=1),
        ) == [("a", "read", {"n": 1}), ("b", "read", {"n": 2})]


@pytest.mark.proves("H4d.38")
class TestConstantId:
    def test_calls_with_one_id_stay_apart(self) -> None:
        assert assemble(
            head(id="x", index=0),
            tail('{"n":1}', index=0),
            head(id="x", index=1),
            tail('{"n":2}', index=1),
        ) == [("x", "read", {"n": 1}), ("x", "read", {"n": 2})]

    def test_index_decides_between_calls_that_share_an_id(self) -> None:
        assert assemble(
            head("read", '{"n":1}', id="x", index=0),
            head("read", '{"n":', id="x", index=1),
            tail("2}", id="x", index=1),
        ) == [("x", "read", {"n": 1}), ("x", "read", {"n": 2})]

    def test_pieces_that_cannot_be_told_apart_are_not_run(self) -> None:
        """Two heads first, then both arguments, and the id is all there is to go by."""
        assert assemble(
            head(id="x"), head(id="x"), tail('{"n":1}', id="x"), tail('{"n":2}', id="x")
        ) == [("x", "read", {"!": 1})]


def test_object_in_place_of_text_is_taken() -> None:
    assert assemble(
        head("read", {"n": 1}, index=0, id="a"), head("read", {"n": 2}, index=1, id="b")
    ) == [("a", "read", {"n": 1}), ("b", "read", {"n": 2})]


def test_arguments_without_any_head_are_not_run() -> None:
    assert assemble(tail('{"n":1}')) == [("", "", {"!": 1})]


@pytest.mark.parametrize(
    "delta", [{}, {"function": None}, {"id": 7, "index": "0", "function": {"name": None}}]
)
def test_nonsense_is_no_crash(delta: Delta) -> None:
    assert assemble(delta) == [("", "", {"!": 1})]


TEXTS = st.lists(
    st.dictionaries(st.sampled_from("abc"), st.integers(0, 9), min_size=1), min_size=1, max_size=4
)


@given(TEXTS, st.integers(1, 7), st.booleans(), st.booleans(), st.booleans())
def test_calls_in_order_are_told_apart_by_any_one_field(
    wanted: list[dict[str, int]], size: int, with_id: bool, with_index: bool, repeats: bool
) -> None:
    """However the arguments are cut, whichever of id and index are left out, or both."""
    import json

    deltas = []
    for index, arguments in enumerate(wanted):
        fields: Delta = {"index": index} if with_index else {}
        named = {**fields, "id": f"v{index}"} if with_id else fields
        deltas.append(head("read", "", **named))
        text = json.dumps(arguments)
        for start in range(0, len(text), size):
            deltas.append(tail(text[start : start + size], **(named if repeats else fields)))
    assert [arguments for _, _, arguments in assemble(*deltas)] == wanted
