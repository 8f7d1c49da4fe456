"""The headers of the two models of the catalogue, read from the files themselves."""

from __future__ import annotations

import time

import pytest

from shard_jupyter.capabilities.local_models.catalog.catalog_model import (
    DEFAULT_MODEL,
    SMALL_MODEL,
)
from shard_jupyter.capabilities.local_models.gguf.read_header import read_header
from shard_jupyter.capabilities.local_models.memory.context_plan import count_kv_bytes
from tests.local_models import find_default_model, find_small_model

pytestmark = [pytest.mark.local_model, pytest.mark.proves("C10")]
MIB = 1 << 20


@pytest.mark.default_model
@pytest.mark.proves("L3.fast", "L3.kv_exact")
def test_default_model_is_read_in_a_moment() -> None:
    path = find_default_model()
    before = time.process_time()
    header = read_header(path)
    assert time.process_time() - before < 0.5
    assert (header.file_bytes, header.architecture) == (DEFAULT_MODEL.size_bytes, "qwen2")
    assert (header.trained_context, header.block_count, header.kv_heads[0]) == (32_768, 24, 2)
    assert header.is_tiny
    assert "<tool_call>" in header.chat_template
    assert count_kv_bytes(header, 4096) == 48 * MIB


@pytest.mark.proves("L3.kv_exact")
def test_small_model_has_the_cache_that_its_server_reports() -> None:
    header = read_header(find_small_model())
    assert (header.file_bytes, header.architecture) == (SMALL_MODEL.size_bytes, "llama")
    assert (header.trained_context, header.block_count) == (8192, 30)
    assert "tool" not in header.chat_template
    assert count_kv_bytes(header, 4096) == 90 * MIB
