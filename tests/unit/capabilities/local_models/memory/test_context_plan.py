"""The plan fits the memory, and its cache has the size that a server itself reports."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shard_jupyter.capabilities.local_models.gguf.gguf_header import GgufHeader
from shard_jupyter.capabilities.local_models.gguf.read_header import read_header
from shard_jupyter.capabilities.local_models.memory.context_plan import (
    ContextPlan,
    NotEnoughMemory,
    count_kv_bytes,
    count_need,
    plan_context,
    say_size,
)
from shard_jupyter.errors import UsageError, UserError
from tests.fakes.gguf_file import text, tiny_llama, uint32

pytestmark = pytest.mark.proves("C10", "L3.plan")
MIB = 1 << 20
LOTS = 1 << 50
QWEN = GgufHeader(
    path=Path("qwen.gguf"),
    file_bytes=491_400_064,
    architecture="qwen2",
    name="Qwen",
    size_label="0.5B",
    licence="apache-2.0",
    trained_context=32_768,
    block_count=24,
    embedding_length=896,
    head_count=14,
    kv_heads=(2,) * 24,
    key_length=64,
    value_length=64,
    sliding_window=None,
    chat_template="",
    parameters=494_032_768,
)
SMOLLM2 = replace(
    QWEN, file_bytes=98_362_432, trained_context=8192, block_count=30, kv_heads=(3,) * 30
)


def read_gemma(folder: Path) -> GgufHeader:
    """Read a header as Gemma-3-270M has it, which does not name the layers with a window."""
    file = tiny_llama(layers=18)
    file.keys = [(str(key).replace("llama.", "gemma3."), value) for key, value in file.keys]
    file.put("general.architecture", text("gemma3"))
    for key, value in {
        "context_length": 32_768, "embedding_length": 640, "attention.head_count": 4,
        "attention.head_count_kv": 1, "attention.key_length": 256, "attention.value_length": 256,
        "attention.sliding_window": 512,
    }.items():  # fmt: skip
        file.put(f"gemma3.{key}", uint32(value))
    return read_header(file.write(folder / "gemma.gguf"))


@pytest.mark.proves("L3.kv_exact")
def test_cache_has_the_size_that_servers_reported(tmp_path: Path) -> None:
    gemma = read_gemma(tmp_path)
    assert count_kv_bytes(SMOLLM2, 4096) == 90 * MIB
    assert count_kv_bytes(QWEN, 4096) == 48 * MIB
    assert count_kv_bytes(gemma, 4096) == (12 + 15) * MIB
    assert count_kv_bytes(gemma, 32_768) == (96 + 15) * MIB


@pytest.mark.proves("L3.kv_full")
def test_window_of_unknown_layers_counts_every_layer_as_full(tmp_path: Path) -> None:
    gemma = read_gemma(tmp_path)
    unknown = replace(gemma, sliding_layers=())
    assert count_kv_bytes(unknown, 4096) == 18 * 4 * MIB
    no_window = replace(gemma, sliding_window=None)
    assert count_kv_bytes(no_window, 4096) == 18 * 4 * MIB


def test_context_is_rounded_up_as_engines_do() -> None:
    assert count_kv_bytes(QWEN, 4097) == count_kv_bytes(QWEN, 4352)


def test_window_never_takes_more_than_the_context(tmp_path: Path) -> None:
    gemma = read_gemma(tmp_path)
    assert count_kv_bytes(gemma, 256) == 18 * MIB // 4


def test_layers_count_with_their_own_heads() -> None:
    header = replace(QWEN, kv_heads=(0, 1, 2), key_length=10, value_length=6, block_count=3)
    assert count_kv_bytes(header, 256) == 256 * 3 * 16 * 2


def test_need_is_model_cache_and_computing_with_a_tenth_more() -> None:
    assert count_need(1000, 500) == (1000 + 500 + 64 * MIB + 5) * 11 // 10


def test_trained_context_is_taken_when_it_fits() -> None:
    kv = 384 * MIB
    need = (QWEN.file_bytes + kv + 64 * MIB + QWEN.file_bytes // 200) * 11 // 10
    assert plan_context(QWEN, need) == ContextPlan(32_768, kv, need, need)
    assert plan_context(QWEN, need - 1).context_tokens == 16_384


@pytest.mark.parametrize(
    ("trained", "wanted", "expected"),
    [
        (1_000_000, None, [1_000_000, 131_072, 65_536, 32_768, 16_384, 8192, 4096, 2048]),
        (131_072, None, [131_072, 65_536, 32_768, 16_384, 8192, 4096, 2048]),
        (40_960, None, [40_960, 32_768, 16_384, 8192, 4096, 2048]),
        (32_768, 6000, [6000, 4096, 2048]),
        (32_768, 1_000_000, [32_768, 16_384, 8192, 4096, 2048]),
        (0, None, [4096, 2048]),
        (0, 100_000, [4096, 2048]),
        (0, 3000, [3000, 2048]),
        (2048, None, [2048]),
        (1024, None, [1024]),
        (32_768, 512, [512]),
    ],
)
def test_contexts_are_tried_from_the_largest_down(
    trained: int, wanted: int | None, expected: list[int]
) -> None:
    header = replace(QWEN, trained_context=trained)
    available, seen = LOTS, []
    while True:
        try:
            plan = plan_context(header, available, wanted)
        except NotEnoughMemory:
            break
        seen.append(plan.context_tokens)
        available = plan.need_bytes - 1
    assert seen == expected


def test_refusal_has_the_numbers_and_a_way_out() -> None:
    need = count_need(QWEN.file_bytes, count_kv_bytes(QWEN, 2048))
    with pytest.raises(NotEnoughMemory) as caught:
        plan_context(QWEN, need - 1)
    error = caught.value
    assert isinstance(error, UserError)
    assert (error.code, error.need_bytes, error.available_bytes) == (
        "not_enough_memory",
        need,
        need - 1,
    )
    assert "Qwen needs 645 MB of memory with a context of 2048 tokens" in error.message
    assert "644 MB can be used" in error.message
    assert error.next_step


def test_no_memory_at_all_is_said_as_zero() -> None:
    with pytest.raises(NotEnoughMemory, match="and 0 MB can be used"):
        plan_context(QWEN, -5)


@pytest.mark.parametrize("wanted", [0, -1])
def test_impossible_wish_is_refused(wanted: int) -> None:
    with pytest.raises(UsageError, match="impossible"):
        plan_context(QWEN, LOTS, wanted)


@pytest.mark.parametrize(
    ("count", "down", "up"),
    [
        (0, "0 MB", "0 MB"),
        (812_400_000, "812 MB", "813 MB"),
        (999_600_000, "999 MB", "1000 MB"),
        (1_000_000_000, "1.0 GB", "1.0 GB"),
        (3_449_000_000, "3.4 GB", "3.5 GB"),
    ],
)
def test_need_is_rounded_up_and_room_down(count: int, down: str, up: str) -> None:
    assert (say_size(count), say_size(count, round_up=True)) == (down, up)


@given(
    available=st.integers(0, 1 << 42),
    trained=st.integers(0, 2**31 - 1),
    wanted=st.none() | st.integers(1, 2**31),
    kv_heads=st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=4),
)
def test_plan_always_fits_and_is_never_more_than_trained_or_wanted(
    available: int, trained: int, wanted: int | None, kv_heads: list[int]
) -> None:
    header = replace(QWEN, trained_context=trained, kv_heads=tuple(kv_heads))
    most = min(trained or 4096, wanted or 2**31)
    try:
        plan = plan_context(header, available, wanted)
    except NotEnoughMemory as error:
        need = error.need_bytes
    else:
        need = plan.need_bytes
        assert 1 <= plan.context_tokens <= most
        assert plan.context_tokens >= min(2048, most)
        assert need == count_need(header.file_bytes, plan.kv_bytes) <= available
        return
    assert need > available
