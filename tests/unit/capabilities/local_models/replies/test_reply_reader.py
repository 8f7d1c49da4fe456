"""A reply is read while it is written, wherever it is cut into pieces."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shard_jupyter.capabilities.local_models.replies.call_check import CheckedCall
from shard_jupyter.capabilities.local_models.replies.reply_reader import ReplyReader, read_reply
from shard_jupyter.capabilities.local_models.replies.string_reader import StringReader
from shard_jupyter.contracts.tool import ToolSpec

pytestmark = pytest.mark.proves("C10", "L6.3")
TEXTS = st.text(st.characters(exclude_categories=[]), max_size=60)
PLAIN = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-999, 999) | PLAIN,
    lambda part: st.lists(part, max_size=3) | st.dictionaries(PLAIN, part, max_size=3),
    max_leaves=8,
)
CUTS = st.lists(st.integers(1, 7), min_size=1, max_size=20)


def cut(text: str, sizes: list[int]) -> list[str]:
    pieces, place = [], 0
    while place < len(text):
        size = sizes[len(pieces) % len(sizes)]
        pieces.append(text[place : place + size])
        place += size
    return pieces


def mended(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


@given(TEXTS, CUTS, st.booleans())
def test_a_string_is_read_in_pieces_of_any_size(text: str, sizes: list[int], ascii: bool) -> None:
    written = json.dumps(text, ensure_ascii=ascii)[1:]
    if any(char == "\x7f" or char < " " for char in json.loads('"' + written)) and not ascii:
        written = json.dumps(text, ensure_ascii=True)[1:]
    reader = StringReader()
    shown = "".join(reader.feed(piece) for piece in cut(written, sizes))
    assert reader.is_closed
    assert not reader.is_broken
    assert shown == mended(text)
    assert reader.feed('and more"') == ""


@given(st.text('abu\\"0d8/n\x01', max_size=20), CUTS)
def test_broken_strings_never_raise_and_show_no_more_than_is_certain(
    text: str, sizes: list[int]
) -> None:
    reader = StringReader()
    shown = "".join(reader.feed(piece) for piece in cut(text, sizes))
    shown.encode("utf-8")
    if reader.is_closed:
        end = next(i for i in range(len(text)) if _closes(text[: i + 1]))
        assert shown == mended(json.loads('"' + text[: end + 1]))


def _closes(text: str) -> bool:
    reader = StringReader()
    reader.feed(text)
    return reader.is_closed


@given(st.dictionaries(PLAIN, VALUES, max_size=4), CUTS)
def test_the_arguments_of_a_call_are_shown_as_they_are_written(
    arguments: dict[str, Any], sizes: list[int]
) -> None:
    reader = ReplyReader()
    written = json.dumps({"tool": "read", "args": arguments})
    pieces = [reader.feed(piece) for piece in cut(written + "\n", sizes)]
    assert reader.tool == "read"
    assert "".join(piece.arguments for piece in pieces) == json.dumps(arguments)
    assert not [piece for piece in pieces if piece.text]


@given(PLAIN, CUTS)
def test_the_text_of_an_answer_is_shown_as_it_is_written(text: str, sizes: list[int]) -> None:
    reader = ReplyReader()
    written = json.dumps({"tool": "answer", "args": {"text": text}})
    pieces = [reader.feed(piece) for piece in cut(written, sizes)]
    assert "".join(piece.text for piece in pieces) == text
    assert not [piece for piece in pieces if piece.arguments]


@given(st.text('{}[]":, toolargsx\\\n', max_size=80), CUTS)
def test_no_text_at_all_makes_it_raise(text: str, sizes: list[int]) -> None:
    reader = ReplyReader()
    for piece in cut(text, sizes):
        reader.feed(piece)
    read_reply(text, ())


@pytest.mark.parametrize("text", ['{"tool": "a\\x", "args": {}}', '{"args": {}, "tool": "a"}'])
def test_another_form_names_no_tool(text: str) -> None:
    reader = ReplyReader()
    reader.feed(text)
    assert reader.tool is None


def test_a_whole_reply_is_a_checked_call() -> None:
    spec = ToolSpec(name="a", description="", input_schema={"type": "object", "properties": {}})
    assert read_reply(' {"tool": "a", "args": {}}\n', (spec,)) == CheckedCall("a", {})
    assert read_reply('{"tool": "a", "args": {}} {}', (spec,)) == "it is no JSON object"
