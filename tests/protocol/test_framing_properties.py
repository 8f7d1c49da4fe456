"""What holds for every record and every way to cut the bytes."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shard_jupyter.errors import FrameError
from shard_jupyter.protocol.envelope import MAX_NUMBER
from shard_jupyter.protocol.framing import (
    FrameDecoder,
    decode_record,
    decode_text_frame,
    encode_record,
)

pytestmark = pytest.mark.proves("B03", "H4b.25")

# All of Unicode but halves of surrogate pairs; what others take for line ends comes up often.
TEXT = st.text(
    st.characters(exclude_categories=["Cs"]) | st.sampled_from("\n\r\x0b\x0c\x1c\x85\u2028\u2029\0")
)
NUMBERS = st.integers(-MAX_NUMBER, MAX_NUMBER) | st.floats(-MAX_NUMBER, MAX_NUMBER)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner),
    max_leaves=20,
)
RECORDS = st.dictionaries(TEXT, JSON)


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]


def outcomes(pieces: list[bytes], max_bytes: int = 64) -> list[object]:
    decoder = FrameDecoder(max_bytes)
    items = [item for piece in pieces for item in decoder.feed(piece)]
    shown: list[object] = [one.code if isinstance(one, FrameError) else one for one in items]
    return [*shown, decoder.eof()]


@settings(deadline=None)
@given(st.lists(RECORDS, max_size=5), st.lists(st.integers(0), max_size=8))
def test_what_was_written_is_read_however_it_is_cut(
    records: list[dict[str, Any]], places: list[int]
) -> None:
    stream = b"".join(encode_record(record) for record in records)
    assert stream.count(b"\n") == len(records), "no LF inside a record"
    decoder = FrameDecoder()
    read = [item for piece in cut(stream, places) for item in decoder.feed(piece)]
    assert read == records
    assert decoder.eof() == 0


@settings(deadline=None)
@given(RECORDS)
def test_a_text_frame_holds_the_same_record(record: dict[str, Any]) -> None:
    assert decode_text_frame(encode_record(record)[:-1]) == record


# Bytes that are nearly records: pieces of JSON put together at random, and noise.
NEARLY = st.lists(
    st.sampled_from(
        [
            *(b'{"a":1}', b'{"a":', b'"a"', b'"\\ud800"', b"1e999", b"9007199254740992", b"NaN"),
            *(b"[", b"]", b"{", b"}", b",", b":", b"\n", b"\r", b" ", b"\xef\xbb\xbf", b"\xff"),
            *(b"\\", b'"', b"\0", b"x" * 70, "\u2028".encode(), b'{"a":1,"a":2}', b"-0", b"1.5"),
        ]
    )
    | st.binary(max_size=4),
    max_size=12,
).map(b"".join)


@given(NEARLY, st.lists(st.integers(0), max_size=8))
@settings(max_examples=300, deadline=None)
def test_any_bytes_give_the_same_outcomes_however_they_are_cut(
    data: bytes, places: list[int]
) -> None:
    assert outcomes(cut(data, places)) == outcomes([data])


@given(NEARLY)
@settings(max_examples=300, deadline=None)
def test_what_is_accepted_is_strict_json(data: bytes) -> None:
    try:
        record = decode_record(data)
    except FrameError:
        return
    assert json.loads(data.decode("utf-8")) == record
    written = encode_record(record)
    assert decode_record(written) == record


def slow_problem(text: str) -> str | None:
    """An independent, slow reading of the rules for JSON that parses; None: nothing wrong."""
    problems: list[str] = []

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in found]
        problems.extend("duplicate_key" for name in names if names.count(name) > 1)
        return dict(found)

    value = json.loads(text, object_pairs_hook=pairs)
    todo: list[tuple[object, int]] = [(value, 1)]
    while todo:
        one, depth = todo.pop()
        if isinstance(one, dict | list):
            if depth > 64:
                problems.append("depth")
            children = [*one, *one.values()] if isinstance(one, dict) else one
            todo += [(child, depth + 1) for child in children]
        elif isinstance(one, str) and any("\ud800" <= char <= "\udfff" for char in one):
            problems.append("unicode")
        elif isinstance(one, float) and math.isnan(one):
            problems.append("json")
        elif isinstance(one, int | float) and not -MAX_NUMBER <= one <= MAX_NUMBER:
            problems.append("number")
    return problems[0] if problems else None


LOOSE_TEXT = st.text(st.sampled_from('ab"\\{[,:]}\ud800\udc00\u2028'), max_size=3)
LOOSE = st.recursive(
    st.sampled_from([1, 2**53 - 1, 2**53, -(2**63), 1.5, 1e300, None, True]) | LOOSE_TEXT,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(st.tuples(LOOSE_TEXT, inner), max_size=3).map(dict)
        | st.tuples(inner, st.integers(1, 70)).map(lambda pair: nest(*pair))
    ),
    max_leaves=6,
)


def nest(value: object, levels: int) -> object:
    for _ in range(levels):
        value = [value]
    return value


@given(LOOSE, st.booleans())
@settings(max_examples=300, deadline=None)
def test_json_is_refused_exactly_when_a_rule_is_broken(value: object, ascii_only: bool) -> None:
    text = json.dumps({"a": value}, ensure_ascii=ascii_only)
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError:
        return
    problem = slow_problem(text)
    if problem is None:
        assert decode_record(data) == json.loads(text)
        return
    with pytest.raises(FrameError):
        decode_record(data)
