"""The keys of a GGUF file: read all, keep the few that are of use, refuse what is malformed."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from shard_jupyter.capabilities.local_models.gguf.header_bytes import HeaderBytes
from shard_jupyter.capabilities.local_models.gguf.safe_text import make_safe_text

INT32_MAX = 2**31 - 1
UINT8, INT8, UINT16, INT16, UINT32, INT32, FLOAT32, BOOL = range(8)
STRING, ARRAY, UINT64, INT64, FLOAT64 = range(8, 13)
INTEGERS = frozenset((UINT8, INT8, UINT16, INT16, UINT32, INT32, UINT64, INT64))
_SCALARS = {
    UINT8: struct.Struct("<B"), INT8: struct.Struct("<b"), UINT16: struct.Struct("<H"),
    INT16: struct.Struct("<h"), UINT32: struct.Struct("<I"), INT32: struct.Struct("<i"),
    FLOAT32: struct.Struct("<f"), BOOL: struct.Struct("<B"), UINT64: struct.Struct("<Q"),
    INT64: struct.Struct("<q"), FLOAT64: struct.Struct("<d"),
}  # fmt: skip
_KEPT_TEXTS = frozenset((
    "general.architecture", "general.type", "general.name", "general.license",
    "general.size_label", "tokenizer.chat_template", "tokenizer.chat_template.tool_use",
))  # fmt: skip
_KEPT_ARRAYS = (
    ".attention.head_count", ".attention.head_count_kv", ".attention.sliding_window_pattern",
    ".attention.key_length", ".attention.value_length", ".attention.sliding_window",
)  # fmt: skip
_LONGEST_KEY = 1024
_LONGEST_TEXT = 4 << 20
_MOST_ITEMS = 4096
"""Of an array that is kept."""
_MOST_STRINGS = 8_000_000
"""In all arrays of a file together; the largest vocabularies have a twentieth of it."""


@dataclass(frozen=True)
class ArrayValue:
    """`items` is None for an array that was passed over."""

    kind: int
    count: int
    items: tuple[int, ...] | None = None


@dataclass
class Metadata:
    """What the keys say. A text that is not kept has its key only."""

    kinds: dict[str, int] = field(default_factory=dict)
    numbers: dict[str, int | float] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    arrays: dict[str, ArrayValue] = field(default_factory=dict)
    strings: int = 0


def read_metadata(source: HeaderBytes, count: int) -> Metadata:
    """Read `count` keys from where `source` stands."""
    metadata = Metadata()
    for _ in range(count):
        key = read_key(source)
        if key in metadata.kinds:
            raise source.refuse("key_duplicate", f"has the key {make_safe_text(key)} twice.")
        kind = source.read_uint32()
        metadata.kinds[key] = kind
        read_value(source, metadata, key, kind)
    return metadata


def read_key(source: HeaderBytes) -> str:
    length = source.read_length()
    if length == 0:
        raise source.refuse("key_empty", "has a key without a name.")
    if length > _LONGEST_KEY:
        raise source.refuse("string_length", f"has a key whose name is {length} bytes long.")
    try:
        return source.read(length).decode("utf-8")
    except UnicodeDecodeError as error:
        raise source.refuse("key_utf8", "has a key whose name is not UTF-8.") from error


def read_value(source: HeaderBytes, metadata: Metadata, key: str, kind: int) -> None:
    if kind == STRING:
        length = source.read_length()
        if key in _KEPT_TEXTS:
            metadata.texts[key] = _read_text(source, key, length)
        else:
            source.skip(length)
    elif kind == ARRAY:
        metadata.arrays[key] = _read_array(source, metadata, key)
    elif scalar := _SCALARS.get(kind):
        (metadata.numbers[key],) = scalar.unpack(source.read(scalar.size))
    else:
        what = f"has a value of the unknown type {kind} at {make_safe_text(key)}."
        raise source.refuse("value_type", what)


def _read_text(source: HeaderBytes, key: str, length: int) -> str:
    if length > _LONGEST_TEXT:
        raise source.refuse("string_length", f"has {length} bytes of text at {key}.")
    # These are shown or given to an engine, which is not strict either.
    return source.read(length).decode("utf-8", errors="replace")


def _read_array(source: HeaderBytes, metadata: Metadata, key: str) -> ArrayValue:
    kind, count = source.read_uint32(), source.read_uint64()
    shown = make_safe_text(key)
    if kind == ARRAY:
        raise source.refuse("nested_array", f"has an array of arrays at {shown}.")
    scalar = _SCALARS.get(kind)
    if scalar is None and kind != STRING:
        raise source.refuse("value_type", f"has an array of the unknown type {kind} at {shown}.")
    # A string takes the 8 bytes of its length at least.
    if count * (scalar.size if scalar else 8) > source.rest:
        what = f"has an array of {count} values at {shown}, more than the file holds."
        raise source.refuse("array_length", what)
    if scalar is None:
        return _pass_strings(source, metadata, shown, count)
    if not key.endswith(_KEPT_ARRAYS) or kind not in INTEGERS | {BOOL}:
        source.skip(count * scalar.size)
        return ArrayValue(kind, count)
    if count > _MOST_ITEMS:
        raise source.refuse("array_length", f"has an array of {count} values at {shown}.")
    data = source.read(count * scalar.size)
    return ArrayValue(kind, count, tuple(value for (value,) in scalar.iter_unpack(data)))


def _pass_strings(source: HeaderBytes, metadata: Metadata, shown: str, count: int) -> ArrayValue:
    metadata.strings += count
    if metadata.strings > _MOST_STRINGS:
        raise source.refuse("array_length", f"has {metadata.strings} texts up to {shown}.")
    source.skip_strings(count)
    return ArrayValue(STRING, count)
