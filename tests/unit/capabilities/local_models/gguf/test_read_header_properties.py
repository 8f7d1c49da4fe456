"""Whatever bytes a file has, it is read or refused in words, soon and with little memory."""

from __future__ import annotations

import struct
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shard_jupyter.capabilities.local_models.gguf.gguf_header import GgufHeader
from shard_jupyter.capabilities.local_models.gguf.peek_kind import peek_kind
from shard_jupyter.capabilities.local_models.gguf.read_header import read_header
from shard_jupyter.capabilities.local_models.gguf.refusals import BadModelFile
from tests.fakes.gguf_file import INT32, array, text, tiny_llama, uint32

pytestmark = pytest.mark.proves("C10", "L3.mutations")
T = TypeVar("T")
VALID = tiny_llama().to_bytes()
HEADER = len(VALID) - VALID[::-1].find(b"thgiew.nwod_nff") + 60
EXTREMES = [0, 1, 2, 4, 8, 9, 13, 255, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**63, 2**64 - 1]
same_folder = settings(
    max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
_numbers = iter(range(10**9))


def attempt(read: Callable[[Path], T], path: Path) -> T | None:
    try:
        return read(path)
    except BadModelFile as error:
        told = error.next_step
    assert told
    return None


def try_to_read(folder: Path, data: bytes) -> GgufHeader | None:
    """Read bytes as a file of its own name, and check what every reading keeps to."""
    path = folder / f"{next(_numbers)}.gguf"
    path.write_bytes(data)
    tracemalloc.start()
    before = time.process_time()
    try:
        attempt(peek_kind, path)
        return attempt(read_header, path)
    finally:
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
        tracemalloc.stop()
        assert time.process_time() - before < 2
        path.unlink()


@same_folder
@given(
    changes=st.lists(st.tuples(st.integers(0, HEADER), st.integers(0, 255)), min_size=1, max_size=8)
)
def test_changed_bytes_are_read_or_refused(tmp_path: Path, changes: list[tuple[int, int]]) -> None:
    data = bytearray(VALID)
    for place, byte in changes:
        data[place] = byte
    try_to_read(tmp_path, bytes(data))


@same_folder
@given(
    place=st.integers(0, HEADER),
    value=st.sampled_from(EXTREMES) | st.integers(0, 2**64 - 1),
    width=st.sampled_from(["<I", "<Q"]),
)
def test_extreme_numbers_are_read_or_refused(
    tmp_path: Path, place: int, value: int, width: str
) -> None:
    number = struct.pack(width, value & (2 ** (8 * struct.calcsize(width)) - 1))
    try_to_read(tmp_path, VALID[:place] + number + VALID[place + len(number) :])


@same_folder
@given(size=st.integers(0, len(VALID) - 1))
def test_file_that_is_cut_short_is_always_refused(tmp_path: Path, size: int) -> None:
    assert try_to_read(tmp_path, VALID[:size]) is None


@same_folder
@given(start=st.integers(0, HEADER), length=st.integers(1, 40), more=st.binary(max_size=40))
def test_exchanged_pieces_are_read_or_refused(
    tmp_path: Path, start: int, length: int, more: bytes
) -> None:
    try_to_read(tmp_path, VALID[:start] + more + VALID[start + length :])


@same_folder
@given(data=st.binary(max_size=400))
def test_any_bytes_behind_a_good_start_are_refused(tmp_path: Path, data: bytes) -> None:
    assert try_to_read(tmp_path, b"GGUF\x03\x00\x00\x00" + data) is None


@same_folder
@given(
    name=st.text(st.characters(categories=["L", "N", "P"]), max_size=200),
    template=st.text(max_size=300),
    context=st.integers(0, 2**31 - 1),
    kv_heads=st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=12),
    key_length=st.integers(0, 2**31 - 1),
)
def test_what_is_written_is_read_back(
    tmp_path: Path, name: str, template: str, context: int, kv_heads: list[int], key_length: int
) -> None:
    file = tiny_llama(name=name, context=context, layers=len(kv_heads))
    file.put("llama.attention.head_count_kv", array(INT32, [*kv_heads]))
    file.put("llama.attention.key_length", uint32(key_length))
    file.put("tokenizer.chat_template", text(template))
    header = try_to_read(tmp_path, file.to_bytes())
    assert header is not None
    assert (header.name, header.chat_template) == (name, template)
    assert (header.trained_context, header.kv_heads) == (context, tuple(kv_heads))
    assert (header.block_count, header.key_length) == (len(kv_heads), key_length)
