"""A look at the first keys tells a model from what belongs to one."""

from __future__ import annotations

from pathlib import Path

import pytest

from shard_jupyter.capabilities.local_models.gguf.peek_kind import peek_kind
from shard_jupyter.capabilities.local_models.gguf.refusals import BadModelFile
from tests.fakes.gguf_file import (
    STRING,
    array,
    text,
    tiny_llama,
    write_projector,
    write_split_model,
    write_tiny_model,
)

pytestmark = pytest.mark.proves("C10")


def test_model_projector_and_adapter_are_told_apart(tmp_path: Path) -> None:
    assert peek_kind(write_tiny_model(tmp_path / "a.gguf")) == "model"
    assert peek_kind(write_projector(tmp_path / "b.gguf")) == "projector"
    adapter = tiny_llama().put("general.type", text("adapter")).write(tmp_path / "c.gguf")
    assert peek_kind(adapter) == "other"
    old = tiny_llama().drop("general.type").put("general.architecture", text("clip"))
    assert peek_kind(old.write(tmp_path / "d.gguf")) == "projector"


def test_later_part_of_a_model_is_part_of_a_model(tmp_path: Path) -> None:
    assert peek_kind(write_split_model(tmp_path)[1]) == "model"


def test_rest_of_the_file_is_not_read(tmp_path: Path) -> None:
    file = tiny_llama().put("tokenizer.ggml.tokens", array(STRING, [], count=2**60))
    assert peek_kind(file.write(tmp_path / "m.gguf")) == "model"


def test_what_is_no_gguf_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(b"<html>" * 10)
    with pytest.raises(BadModelFile, match="web page"):
        peek_kind(tmp_path / "m.gguf")
