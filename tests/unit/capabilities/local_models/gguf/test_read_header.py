"""A header says what it should, whatever the file looks like."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from shard_jupyter.capabilities.local_models.gguf.gguf_header import TINY_PARAMETERS
from shard_jupyter.capabilities.local_models.gguf.read_header import read_header
from shard_jupyter.capabilities.local_models.gguf.refusals import BadModelFile
from tests.fakes.gguf_file import (
    BOOL,
    CHAT_TEMPLATE,
    F16,
    INT32,
    Q4_0,
    STRING,
    UINT64,
    GgufFile,
    Tensor,
    array,
    number,
    text,
    tiny_llama,
    uint32,
    write_split_model,
    write_tiny_model,
)

pytestmark = pytest.mark.proves("C10", "L3.fields")


def test_fields_of_a_valid_file_are_read(tmp_path: Path) -> None:
    path = write_tiny_model(tmp_path / "tiny.gguf", name="My model")
    header = read_header(path)
    assert (header.path, header.file_bytes) == (path, path.stat().st_size)
    assert (header.architecture, header.name) == ("llama", "My model")
    assert (header.size_label, header.licence) == ("1K", "apache-2.0")
    assert (header.trained_context, header.block_count) == (4096, 2)
    assert (header.embedding_length, header.head_count, header.kv_heads) == (8, 4, (2, 2))
    assert (header.key_length, header.value_length) == (2, 2)
    assert header.sliding_window is None
    assert header.sliding_layers == ()
    assert header.chat_template == CHAT_TEMPLATE
    assert header.is_tiny


def test_parameters_are_the_sum_over_all_tensors(tmp_path: Path) -> None:
    file = tiny_llama()
    file.tensors = [
        Tensor("a", (32, 3, 5), Q4_0),
        Tensor("b", (7,), F16),
        Tensor("c", (2, 2, 2, 2)),
    ]
    assert read_header(file.write(tmp_path / "m.gguf")).parameters == 480 + 7 + 16


def test_model_of_two_billion_parameters_is_not_tiny(tmp_path: Path) -> None:
    file = tiny_llama()
    # A type that no table knows: then the size is not known either, and the file can be small.
    file.tensors = [Tensor("a", (TINY_PARAMETERS,), 1234, size=32)]
    header = read_header(file.write(tmp_path / "m.gguf"))
    assert (header.parameters, header.is_tiny) == (TINY_PARAMETERS, False)


def test_version_2_is_read(tmp_path: Path) -> None:
    file = tiny_llama()
    file.version = 2
    assert read_header(file.write(tmp_path / "m.gguf")).name == "Tiny"


def test_missing_kv_heads_mean_the_heads(tmp_path: Path) -> None:
    file = tiny_llama().drop("llama.attention.head_count_kv")
    assert read_header(file.write(tmp_path / "m.gguf")).kv_heads == (4, 4)


def test_heads_may_be_given_for_each_layer(tmp_path: Path) -> None:
    file = tiny_llama().put("llama.attention.head_count_kv", array(INT32, [0, 3]))
    file.put("llama.attention.head_count", array(INT32, [0, 4]))
    header = read_header(file.write(tmp_path / "m.gguf"))
    assert (header.kv_heads, header.head_count, header.key_length) == ((0, 3), 4, 2)


def test_lengths_of_a_head_may_be_given(tmp_path: Path) -> None:
    file = tiny_llama().put("llama.attention.key_length", uint32(5))
    file.put("llama.attention.value_length", number(UINT64, 7))
    header = read_header(file.write(tmp_path / "m.gguf"))
    assert (header.key_length, header.value_length) == (5, 7)


def test_largest_counts_of_lengths_that_are_given_for_each_layer(tmp_path: Path) -> None:
    file = tiny_llama().put("llama.attention.key_length", array(INT32, [5, 9]))
    file.put("llama.attention.sliding_window", array(INT32, [128, 0]))
    header = read_header(file.write(tmp_path / "m.gguf"))
    assert (header.key_length, header.value_length, header.sliding_window) == (9, 2, 128)


def test_file_that_does_not_say_its_context_has_zero(tmp_path: Path) -> None:
    file = tiny_llama().drop("llama.context_length", "general.name", "tokenizer.chat_template")
    header = read_header(file.write(tmp_path / "m.gguf"))
    assert (header.trained_context, header.name, header.chat_template) == (0, "", "")


def test_second_template_for_tools_is_read(tmp_path: Path) -> None:
    file = tiny_llama().put("tokenizer.chat_template.tool_use", text("T"))
    assert read_header(file.write(tmp_path / "m.gguf")).tool_template == "T"


def test_architecture_may_stand_behind_the_fields(tmp_path: Path) -> None:
    file = tiny_llama().drop("general.architecture").put("general.architecture", text("llama"))
    assert read_header(file.write(tmp_path / "m.gguf")).block_count == 2


@pytest.mark.parametrize(
    ("architecture", "pattern", "expected"),
    [
        ("gemma3", None, (True,) * 5 + (False,)),
        ("gemma3", uint32(2), (True, False) * 3),
        ("gemma3", uint32(0), (True,) * 5 + (False,)),
        ("gemma3", uint32(60), (True,) * 5 + (False,)),
        ("gpt-oss", None, (True, False) * 3),
        ("llama", None, ()),
        ("llama", uint32(6), ()),
        ("llama", array(BOOL, [1, 0, 1, 1, 1, 0]), (True, False, True, True, True, False)),
        ("gemma3", array(BOOL, [1, 0]), ()),
    ],
)
def test_layers_with_a_window_are_known_or_all_layers_count(
    tmp_path: Path, architecture: str, pattern: object, expected: tuple[bool, ...]
) -> None:
    file = tiny_llama(layers=6)
    file.keys = [
        (str(key).replace("llama.", f"{architecture}."), value) for key, value in file.keys
    ]
    file.put("general.architecture", text(architecture))
    file.put(f"{architecture}.attention.sliding_window", uint32(512))
    if pattern is not None:
        file.put(f"{architecture}.attention.sliding_window_pattern", pattern)  # type: ignore[arg-type]
    header = read_header(file.write(tmp_path / "m.gguf"))
    assert (header.sliding_window, header.sliding_layers) == (512, expected)


def test_window_of_zero_is_none(tmp_path: Path) -> None:
    file = tiny_llama().put("llama.attention.sliding_window", uint32(0))
    assert read_header(file.write(tmp_path / "m.gguf")).sliding_window is None


def test_split_model_counts_with_all_its_parts(tmp_path: Path) -> None:
    whole = read_header(write_tiny_model(tmp_path / "whole.gguf"))
    parts = write_split_model(tmp_path)
    header = read_header(parts[0])
    assert header.parameters == whole.parameters
    assert header.file_bytes == sum(part.stat().st_size for part in parts)
    assert header.name == "Tiny"


def test_split_model_of_one_part_is_a_file(tmp_path: Path) -> None:
    (path,) = write_split_model(tmp_path, parts=1)
    assert read_header(path).name == "Tiny"


def test_what_is_shown_cannot_steer_a_terminal(tmp_path: Path) -> None:
    file = tiny_llama(name="a\x1b[2Jb\u202ec\nd").put("general.license", text(b"x\xff"))
    header = read_header(file.write(tmp_path / "m.gguf"))
    assert header.name == "a\ufffd[2Jb\ufffdc\ufffdd"
    assert header.licence == "x\ufffd"


def test_alignment_of_the_file_is_used(tmp_path: Path) -> None:
    file = tiny_llama().put("general.alignment", uint32(4096))
    file.alignment = 4096
    assert read_header(file.write(tmp_path / "m.gguf")).name == "Tiny"


def test_reading_again_is_free_until_the_file_changes(tmp_path: Path) -> None:
    path = write_tiny_model(tmp_path / "m.gguf", name="One")
    first = read_header(path)
    assert read_header(path) is first
    write_tiny_model(path, name="Two")
    os.utime(path, ns=(1, 1))
    assert read_header(path).name == "Two"


def test_split_model_is_read_again_when_a_later_part_changes(tmp_path: Path) -> None:
    parts = write_split_model(tmp_path)
    first = read_header(parts[0])
    assert read_header(parts[0]) is first
    parts[2].write_bytes(parts[2].read_bytes()[:-64])
    with pytest.raises(BadModelFile):
        read_header(parts[0])


def test_link_to_a_file_is_read(tmp_path: Path) -> None:
    target = write_tiny_model(tmp_path / "blob")
    link = tmp_path / "m.gguf"
    link.symlink_to(target)
    assert read_header(link).name == "Tiny"


@pytest.mark.proves("L3.fast")
def test_large_vocabulary_is_passed_over_quickly(tmp_path: Path) -> None:
    file = tiny_llama()
    file.drop("tokenizer.ggml.scores", "tokenizer.ggml.token_type")
    file.put("tokenizer.ggml.tokens", array(STRING, [f"token {index}" for index in range(151_936)]))
    file.put("tokenizer.ggml.merges", array(STRING, [f"a {index}" for index in range(151_387)]))
    path = file.write(tmp_path / "m.gguf")
    before = time.process_time()
    header = read_header(path)
    assert time.process_time() - before < 0.5
    assert header.chat_template == CHAT_TEMPLATE


def test_strings_that_straddle_the_pieces_of_reading_are_passed_over(tmp_path: Path) -> None:
    file = tiny_llama().drop("tokenizer.ggml.scores", "tokenizer.ggml.token_type")
    long = [chr(97 + index % 26) * (index * 7919 % 70_000) for index in range(120)]
    file.put("tokenizer.ggml.tokens", array(STRING, long)).put("llama.vocab_size", uint32(120))
    assert read_header(file.write(tmp_path / "m.gguf")).chat_template == CHAT_TEMPLATE


def test_keys_of_every_type_are_passed_over(tmp_path: Path) -> None:
    file = tiny_llama()
    for kind in (0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12):
        file.put(f"x.scalar{kind}", number(kind, 1)).put(f"x.array{kind}", array(kind, [1, 0, 1]))
    file.put("x.text", text("é")).put("x.texts", array(STRING, ["a", "", "ü"]))
    file.put("x.none", array(STRING, []))
    assert read_header(file.write(tmp_path / "m.gguf")).name == "Tiny"


def test_empty_shell_without_keys_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadModelFile):
        read_header(GgufFile().write(tmp_path / "m.gguf"))
