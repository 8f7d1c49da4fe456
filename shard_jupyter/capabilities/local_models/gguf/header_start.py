"""The first 24 bytes of a GGUF file: magic, version and two counts."""

from __future__ import annotations

import struct

from shard_jupyter.capabilities.local_models.gguf.header_bytes import SMALLEST, HeaderBytes

_START = struct.Struct("<4sIQQ")
_MOST_KEYS = 100_000
_MOST_TENSORS = 1_000_000
_SMALLEST_KEY = 14
"""Bytes: length, one letter, type, one byte of value."""
_SMALLEST_TENSOR = 25


def read_start(source: HeaderBytes) -> tuple[int, int]:
    """Return the number of tensors and the number of keys."""
    start = source.read(SMALLEST)
    magic, version, tensors, keys = _START.unpack(start)
    if magic != b"GGUF":
        raise source.refuse("magic", f"is no GGUF file{_guess_content(start)}.")
    if version and version & 0xFFFF == 0:  # a small number whose bytes stand the other way round
        raise source.refuse("big_endian", "is written for big-endian machines.")
    if version not in (2, 3):
        raise source.refuse("version", f"is a GGUF file of version {version}.")
    if keys > _MOST_KEYS or keys * _SMALLEST_KEY > source.rest:
        raise source.refuse("key_count", f"says that it has {keys} keys.")
    if tensors > _MOST_TENSORS or tensors * _SMALLEST_TENSOR > source.rest:
        raise source.refuse("tensor_count", f"says that it has {tensors} tensors.")
    return tensors, keys


def _guess_content(start: bytes) -> str:
    text = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith(b"<"):
        return ": it holds a web page, as of an error or a log-in, not the model"
    if text.startswith(b"version https://git"):
        return ": it holds a Git-LFS pointer that stands for the model, not the model"
    if text.startswith(b"FUGG"):
        return " for this machine: its bytes stand the other way round"
    return ""
