from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from shard_jupyter.errors import FrameError
from shard_jupyter.protocol.envelope import MAX_DEPTH, MAX_NUMBER, MAX_VALUES
from shard_jupyter.protocol.framing import (
    FrameDecoder,
    close_code,
    decode_record,
    decode_text_frame,
    encode_record,
)
from shard_jupyter.types.events import Notice

pytestmark = pytest.mark.proves("B03")

MIB = 1024 * 1024


def refused(data: bytes) -> str:
    with pytest.raises(FrameError) as caught:
        decode_record(data)
    return caught.value.code


def codes(items: list[dict[str, object] | FrameError]) -> list[str]:
    return [item.code if isinstance(item, FrameError) else "ok" for item in items]


def nested(levels: int) -> bytes:
    """A record whose innermost array is `levels` deep."""
    return b'{"a":' + b"[" * (levels - 1) + b"]" * (levels - 1) + b"}"


class TestLimits:
    def test_depth_64_is_read_and_65_is_refused(self) -> None:
        decode_record(nested(MAX_DEPTH))
        assert refused(nested(MAX_DEPTH + 1)) == "depth"

    def test_many_brackets_side_by_side_are_not_deep(self) -> None:
        assert decode_record(b'{"a":[' + b"[]," * 500 + b"{}]}")["a"][500] == {}

    def test_brackets_in_strings_are_not_deep(self) -> None:
        text = r"[[{\"[\\" * 100
        assert decode_record(b'{"a":"' + text.encode() + b'"}')["a"].count("[") == 300

    @pytest.mark.parametrize("text", [str(MAX_NUMBER), str(-MAX_NUMBER), "1e15", "-0", "1e-400"])
    def test_number_within_the_limit_is_read(self, text: str) -> None:
        assert decode_record(b'{"a":%s}' % text.encode())["a"] == float(text)

    @pytest.mark.parametrize(
        "text", [str(MAX_NUMBER + 1), str(-MAX_NUMBER - 1), "1e16", "-1e999", "1" * 10_000]
    )
    def test_number_beyond_the_limit_is_refused(self, text: str) -> None:
        assert refused(b'{"a":[%s]}' % text.encode()) == "number"

    def test_values_are_counted_not_commas_in_strings(self) -> None:
        decode_record(b'{"a":"' + b"," * (MAX_VALUES * 2) + b'"}')
        decode_record(b'{"a":[' + b"1," * (MAX_VALUES - 3) + b"1]}")
        assert refused(b'{"a":[' + b"1," * MAX_VALUES + b"1]}") == "too_large"

    def test_size_at_the_cap_is_read_and_one_more_is_refused(self) -> None:
        record = b'{"a":"xxx"}'
        decoder = FrameDecoder(len(record))
        assert codes(decoder.feed(record + b"\n")) == ["ok"]
        assert codes(decoder.feed(record + b" \n")) == ["too_large"]
        assert decode_text_frame(record, len(record)) == {"a": "xxx"}
        with pytest.raises(FrameError):
            decode_text_frame(record, len(record) - 1)


class TestStream:
    def test_oversized_record_gives_one_refusal_while_it_is_being_read(self) -> None:
        decoder = FrameDecoder(100)
        assert codes(decoder.feed(b"x" * 101)) == ["too_large"], "not only at its LF"
        assert decoder.feed(b"y" * 1000) == []
        assert codes(decoder.feed(b'z\n{"a":1}\n')) == ["ok"]

    def test_oversized_record_in_pieces_is_refused_at_its_lf(self) -> None:
        decoder = FrameDecoder(10)
        assert decoder.feed(b'{"a":') == []
        assert codes(decoder.feed(b'"xxxxxx"}\n{"a":1}\n')) == ["too_large", "ok"]

    def test_rest_of_a_refused_record_is_not_counted_at_the_end(self) -> None:
        decoder = FrameDecoder(10)
        decoder.feed(b"x" * 50)
        assert decoder.eof() == 0
        assert codes(decoder.feed(b'{"a":1}\n')) == ["ok"], "and is forgotten with the stream"

    def test_blank_rest_is_nothing_at_the_end(self) -> None:
        decoder = FrameDecoder()
        decoder.feed(b" \r")
        assert decoder.eof() == 0

    def test_refusals_stand_between_the_records_they_came_between(self) -> None:
        stream = b'{"a":1}\n[]\n{"a":2}\n\xff\n{"a":3}\n'
        assert codes(FrameDecoder().feed(stream)) == ["ok", "schema", "ok", "utf8", "ok"]


class TestRefusals:
    def test_text_of_a_refusal_never_quotes_the_record(self) -> None:
        for data in (b'{"key":"sk-secret" x}', b'{"sk-secret":1,"sk-secret":2}', b'"sk-secret"'):
            with pytest.raises(FrameError) as caught:
                decode_record(data)
            assert "secret" not in str(caught.value)

    def test_escaped_pair_is_a_character_and_escaped_backslash_is_no_escape(self) -> None:
        assert decode_record(rb'{"a":"\ud83d\ude00"}') == {"a": "😀"}
        assert decode_record(rb'{"a":"\\ud800"}') == {"a": r"\ud800"}

    def test_only_size_and_utf8_close_a_websocket(self) -> None:
        names = ("json", "utf8", "unicode", "depth", "too_large", "number", "duplicate_key")
        closing = {name: close_code(FrameError("", code=name)) for name in names}
        assert {name: code for name, code in closing.items() if code} == {
            "utf8": 1007,
            "too_large": 1009,
        }


class TestWriting:
    def test_record_is_compact_and_ends_with_its_only_lf(self) -> None:
        assert (
            encode_record({"a": ["x\ny", {"é": None}]}) == '{"a":["x\\ny",{"é":null}]}\n'.encode()
        )

    def test_nan_as_a_word_in_a_text_is_no_number(self) -> None:
        notice = Notice(agent_id="a", code="c", message="NaN, Infinity")
        assert b'"seq":null' in encode_record(notice)

    @pytest.mark.parametrize(
        ("value", "code"),
        [
            (float("nan"), "json"),
            ([float("inf")], "json"),
            ({"x": [1, -float("inf")]}, "json"),
            (MAX_NUMBER + 1, "number"),
            ([1e300], "number"),
            (-(2**70), "number"),
            ("\ud800", "unicode"),
            ({"\udfff": 1}, "unicode"),
            ([[] for _ in range(MAX_VALUES)], "too_large"),
        ],
    )
    def test_what_could_not_be_read_is_never_written(self, value: object, code: str) -> None:
        with pytest.raises(FrameError) as caught:
            encode_record({"a": value})
        assert caught.value.code == code

    def test_record_that_is_too_deep_or_too_large_is_never_written(self) -> None:
        deep: object = 1
        for _ in range(MAX_DEPTH):
            deep = [deep]
        with pytest.raises(FrameError, match="deep"):
            encode_record({"a": deep})
        with pytest.raises(FrameError, match="larger"):
            encode_record({"a": "xxxx"}, 11)


@contextmanager
def memory_below(limit: int) -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < limit, f"{peak / MIB:.0f} MiB"


HOSTILE = {
    "digits": b'{"a":1.' + b"1" * (4 * MIB),
    "open strings": b'{"a":"' + b'\\"[' * (MIB + MIB // 3),
    "empty strings": b"[]," * 70 + b'""' * (2 * MIB),
    "string list": b'{"a":[' + b'"",' * MIB,
    "empty arrays": b'{"a":[' + b"[]," * MIB,
    "backslashes": b'{"a":[[["' + b"\\" * (4 * MIB),
    "brackets": b"[" * (4 * MIB),
    "closed brackets": b"[" * 65 + b"]" * (4 * MIB),
    "scalars": b"[]," * 70 + b"x" * (4 * MIB),
    "escapes": b'{"a":"' + b"\\ud83d" * (MIB // 2) + b'"}',
}


@pytest.mark.timeout(20)
@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_record_is_refused_in_linear_time_and_memory(data: bytes) -> None:
    # Each is about 4 MiB. Anything quadratic takes minutes, anything built takes 100 MiB.
    with memory_below(24 * MIB):
        refused(data)
