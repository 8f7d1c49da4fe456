"""Bytes to records and back (Shard §7.1). No I/O, no meaning.

A record is one JSON object. On a byte stream it ends with LF and with nothing else: U+2028,
U+0085, VT, FF and CR are data. On a WebSocket it is one text frame. The order of refusal is
fixed: size, UTF-8, structure (depth, number of values), JSON with its numbers and keys,
surrogates. Whatever is refused gives one `FrameError`, and the next record is read as if nothing
had happened.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NoReturn

from pydantic import BaseModel
from pydantic_core import PydanticSerializationError, to_json

from shard_jupyter.errors import FrameError
from shard_jupyter.protocol.envelope import (
    MAX_DEPTH,
    MAX_NUMBER,
    MAX_STREAM_BYTES,
    MAX_VALUES,
    MAX_WEBSOCKET_BYTES,
)

Record = dict[str, Any]

_BLANK = b" \t\r\n"
_BLANK_TEXT = " \t\r\n"
_MAX_DIGITS = len(str(-MAX_NUMBER))
# One match runs over strings and scalars up to the next structural byte, or to the end. Strings
# match closed or not, and every quantifier is possessive: hostile bytes cost linear time.
_NEXT_STRUCTURE = re.compile(
    rb'(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[^"\[\]{},]++)*+([\[\]{},]|\Z)', re.DOTALL
)
# What our encoder may write and our decoder refuses: NaN, infinities, numbers of 16 digits or
# with an exponent. It may also match inside a string; then the check is only slower.
_DOUBTFUL = re.compile(rb"[:,\[](?:NaN|-?(?:Infinity|\d{16}|\d[\d.]*[eE]))")


def _unique_keys(pairs: list[tuple[str, Any]]) -> Record:
    # Parsers disagree on which of two equal keys wins, so that a record may mean one thing to
    # whoever checks it and another to whoever carries it out.
    record = dict(pairs)
    if len(record) != len(pairs):
        raise FrameError("an object has the same key twice", code="duplicate_key")
    return record


def _bounded_int(text: str) -> int:
    number = int(text) if len(text) <= _MAX_DIGITS else None
    if number is None or not -MAX_NUMBER <= number <= MAX_NUMBER:
        raise FrameError("a number is beyond ±(2^53−1)", code="number")
    return number


def _bounded_float(text: str) -> float:
    number = float(text)
    if not -MAX_NUMBER <= number <= MAX_NUMBER:
        raise FrameError("a number is beyond ±(2^53−1)", code="number")
    return number


def _no_constant(name: str) -> NoReturn:
    raise FrameError(f"{name} is no JSON", code="json")


_json = json.JSONDecoder(
    object_pairs_hook=_unique_keys,
    parse_int=_bounded_int,
    parse_float=_bounded_float,
    parse_constant=_no_constant,
)


def decode_record(data: bytes) -> Record:
    """Read one record, without its LF. The caller has checked its size.

    Raises:
        FrameError: json, utf8, unicode, depth, too_large (too many values), number,
            duplicate_key, schema (JSON, but no object). The text never quotes the record.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FrameError(f"byte {error.start} is no UTF-8", code="utf8") from None
    _check_structure(data)
    text = text.strip(_BLANK_TEXT)
    try:
        # Not `decode`, which runs two regular expressions over each record for the white space.
        record, end = _json.raw_decode(text)
    except json.JSONDecodeError as error:
        raise FrameError(f"{error.msg} at character {error.pos}", code="json") from None
    if end != len(text):
        raise FrameError(f"more than one JSON value, at character {end}", code="json")
    if "\\ud" in text or "\\uD" in text:
        _check_surrogates(record)
    if type(record) is not dict:
        raise FrameError("a record is a JSON object", code="schema")
    return record


def _check_structure(data: bytes) -> None:
    """Refuse what is nested too deeply or has too many values, before anything is built."""
    opened = data.count(b"{") + data.count(b"[")
    if opened <= MAX_DEPTH and (len(data) <= MAX_VALUES or opened + data.count(b",") <= MAX_VALUES):
        return
    depth = values = 0
    for match in _NEXT_STRUCTURE.finditer(data):
        byte = match[1]
        if byte in (b"]", b"}"):
            depth -= 1
            if depth < 0:
                return  # No JSON; the parser says where.
            continue
        values += 1
        depth += byte != b","
        if depth > MAX_DEPTH:
            raise FrameError(f"nested more than {MAX_DEPTH} deep", code="depth")
        if values > MAX_VALUES:
            raise FrameError(f"more than {MAX_VALUES} values in one record", code="too_large")


def _check_surrogates(value: object) -> None:
    # Half a pair is a string that no UTF-8 can hold: it would raise much later, in storage.
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise FrameError("half of a surrogate pair", code="unicode") from None


def decode_text_frame(data: bytes, max_bytes: int = MAX_WEBSOCKET_BYTES) -> Record:
    """Read one WebSocket text frame, joined and inflated; a frame is one record.

    Raises:
        FrameError: as `decode_record`, and too_large. See `close_code`.
    """
    if len(data) > max_bytes:
        raise _too_large(max_bytes)
    return decode_record(data)


def close_code(error: FrameError) -> int | None:
    """Say with which code a WebSocket is closed; None: it stays open and gets an error reply.

    RFC 6455 §7.4.1 has codes for the two that leave no way to go on.
    """
    return {"utf8": 1007, "too_large": 1009}.get(error.code)


def encode_record(
    record: BaseModel | Mapping[str, Any], max_bytes: int = MAX_STREAM_BYTES
) -> bytes:
    """Write one record, compact and with its LF. What is written can be read by `decode_record`.

    Raises:
        FrameError: the record is beyond a limit, or holds what JSON cannot (NaN, half of a
            surrogate pair). It is then for the caller to say what is sent instead.
    """
    try:
        data = to_json(record)
    except PydanticSerializationError as error:
        if "surrogates" not in str(error):
            raise
        raise FrameError("half of a surrogate pair", code="unicode") from None
    if len(data) > max_bytes:
        raise _too_large(max_bytes)
    if _DOUBTFUL.search(data):
        decode_record(data)
    else:
        _check_structure(data)
    return data + b"\n"


def _too_large(max_bytes: int) -> FrameError:
    return FrameError(f"a record is larger than {max_bytes} bytes", code="too_large")


class FrameDecoder:
    """Splits a byte stream into records.

    Holds at most `max_bytes` of an unfinished record. An oversized one is refused as soon as it
    is, and thrown away up to its LF.
    """

    def __init__(self, max_bytes: int = MAX_STREAM_BYTES) -> None:
        self._max_bytes = max_bytes
        self._held = bytearray()
        self._discarding = False

    def feed(self, data: bytes) -> list[Record | FrameError]:
        """Take what was read, of any size; return what is complete, refusals in their place."""
        items: list[Record | FrameError] = []
        *lines, rest = data.split(b"\n")
        for line in lines:
            if self._held or self._discarding:
                line = self._finish(line)
            if line:
                self._decode(line, items)
        self._hold(rest, items)
        return items

    def eof(self) -> int:
        """End the stream; return how many bytes of an unfinished record were dropped.

        They are never acted on. The rest of a record that was already refused is not counted.
        """
        dropped = len(self._held.strip(_BLANK))
        self._held = bytearray()
        self._discarding = False
        return dropped

    def _finish(self, line: bytes) -> bytes:
        """Join the end of a record with what was held of it; empty when it was refused before."""
        held, self._held = self._held, bytearray()
        if self._discarding:
            self._discarding = False
            return b""
        held += line
        return bytes(held)

    def _decode(self, line: bytes, items: list[Record | FrameError]) -> None:
        if len(line) > self._max_bytes:
            items.append(_too_large(self._max_bytes))
            return
        try:
            items.append(decode_record(line))
        except FrameError as error:
            # A flood of blank lines gives nothing, not even a refusal each.
            if line.strip(_BLANK):
                items.append(error)

    def _hold(self, rest: bytes, items: list[Record | FrameError]) -> None:
        if self._discarding or not rest:
            return
        if len(self._held) + len(rest) > self._max_bytes:
            self._held = bytearray()
            self._discarding = True
            items.append(_too_large(self._max_bytes))
            return
        self._held += rest
