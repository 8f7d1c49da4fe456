"""Tensors, fields and parts that make no sense are refused (reference §3)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from shard_jupyter.capabilities.local_models.gguf.read_header import read_header
from shard_jupyter.capabilities.local_models.gguf.refusals import BadModelFile
from tests.fakes.gguf_file import (
    BOOL,
    FLOAT32,
    INT32,
    INT64,
    Q4_0,
    STRING,
    UINT64,
    GgufFile,
    Tensor,
    Value,
    array,
    number,
    text,
    tiny_llama,
    uint32,
    write_split_model,
    write_tiny_model,
)
from tests.unit.capabilities.local_models.gguf.refusing import refuse, refuse_bytes, refuse_file

pytestmark = pytest.mark.proves("C10")


@pytest.mark.proves("L3.tensor_name")
@pytest.mark.parametrize("names", [("",), ("n" * 128,), ("a", "b", "a")])
def test_tensor_names_that_are_empty_endless_or_double_are_refused(
    tmp_path: Path, names: tuple[str, ...]
) -> None:
    file = tiny_llama()
    file.tensors = [Tensor(name, (4,)) for name in names]
    assert refuse_file(tmp_path, file).reason == "tensor_name"


TENSOR_FAULTS: dict[str, Tensor] = {
    "tensor_dims": Tensor("t", (1, 1, 1, 1, 1)),
    "tensor_zero": Tensor("t", (4, 0)),
    "tensor_overflow": Tensor("t", (2**32, 2**32), size=64),
    "tensor_row": Tensor("t", (33,), Q4_0),
    "tensor_offset": Tensor("t", (4,), offset=8),
}


@pytest.mark.proves(
    "L3.tensor_dims", "L3.tensor_zero", "L3.tensor_overflow", "L3.tensor_row", "L3.tensor_offset"
)
@pytest.mark.parametrize("word", TENSOR_FAULTS)
def test_impossible_tensor_is_refused(tmp_path: Path, word: str) -> None:
    file = tiny_llama()
    file.tensors.append(TENSOR_FAULTS[word])
    error = refuse_file(tmp_path, file)
    assert (error.reason, " t" in error.message) == (word, True)


@pytest.mark.proves("L3.tensor_overflow")
@pytest.mark.parametrize("dims", [(2**63, 1), (2**21, 2**21, 2**21), (2**64 - 1,) * 4])
def test_number_of_elements_never_overflows(tmp_path: Path, dims: tuple[int, ...]) -> None:
    file = tiny_llama()
    file.tensors.append(Tensor("t", dims, size=64))
    assert refuse_file(tmp_path, file).reason == "tensor_overflow"


@pytest.mark.proves("L3.tensor_extent")
def test_file_whose_download_was_cut_is_refused_with_the_numbers(tmp_path: Path) -> None:
    file = tiny_llama()
    file.tensors.append(Tensor("last", (8, 8)))
    data = file.to_bytes()
    (tmp_path / "whole.gguf").write_bytes(data)
    read_header(tmp_path / "whole.gguf")
    error = refuse_bytes(tmp_path, data[:-1])
    assert error.reason == "tensor_extent"
    assert f"{len(data)}, and the file has {len(data) - 1} bytes" in error.message


@pytest.mark.proves("L3.tensor_extent")
@pytest.mark.parametrize("kind", [0, 12, 999])
def test_tensor_that_starts_beyond_the_file_is_refused_whatever_its_type(
    tmp_path: Path, kind: int
) -> None:
    file = tiny_llama()
    file.tensors.append(Tensor("t", (256,), kind, size=144))
    data = file.to_bytes()
    file.tensors[-1] = Tensor("t", (256,), kind, size=144, offset=2**63)
    far = file._place_tensors()[0]
    near = tiny_llama()
    near.tensors.append(Tensor("t", (256,), kind, size=144))
    assert refuse_bytes(tmp_path, data.replace(near._place_tensors()[0], far)).reason == (
        "tensor_extent"
    )


@pytest.mark.proves("L3.tensor_extent")
@pytest.mark.parametrize(
    ("kind", "size"),
    [
        (0, 1024), (1, 512), (2, 144), (3, 160), (6, 176), (7, 192), (8, 272), (10, 84), (11, 110),
        (12, 144), (13, 176), (14, 210), (16, 66), (17, 74), (18, 98), (19, 50), (20, 144),
        (21, 110), (22, 82), (23, 136), (24, 256), (25, 512), (26, 1024), (27, 2048), (28, 2048),
        (29, 56), (30, 512), (34, 54), (35, 66), (39, 136), (999, 1),
    ],
)  # fmt: skip
def test_256_values_take_what_their_type_says_to_the_byte(
    tmp_path: Path, kind: int, size: int
) -> None:
    file = tiny_llama()
    file.tensors = [Tensor("t", (256,), kind, size=0)]
    head = file.to_bytes()
    (tmp_path / "whole.gguf").write_bytes(head + bytes(size))
    assert read_header(tmp_path / "whole.gguf").parameters == 256
    assert refuse_bytes(tmp_path, head + bytes(size - 1)).reason == "tensor_extent"


@pytest.mark.proves("L3.tensor_extent")
def test_newer_quantisation_is_not_refused(tmp_path: Path) -> None:
    file = tiny_llama()
    file.tensors.append(Tensor("t", (77,), 999, size=64))
    assert read_header(file.write(tmp_path / "m.gguf")).name == "Tiny"


@pytest.mark.proves("L3.alignment")
@pytest.mark.parametrize("value", [uint32(0), uint32(24), number(INT64, 32), text("32")])
def test_alignment_that_is_no_power_of_two_is_refused(tmp_path: Path, value: Value) -> None:
    file = tiny_llama().put("general.alignment", value)
    assert refuse_file(tmp_path, file).reason == "alignment"


@pytest.mark.proves("L3.no_tensors")
def test_vocabulary_without_a_model_is_refused(tmp_path: Path) -> None:
    file = tiny_llama()
    file.tensors = []
    assert refuse_file(tmp_path, file).reason == "no_tensors"


@pytest.mark.proves("L3.not_a_model")
@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("general.type", "adapter", "adapter"),
        ("general.type", "mmproj", "images"),
        ("general.type", "imatrix", "quantising"),
        ("general.architecture", "clip", "images"),
    ],
)
def test_what_belongs_to_a_model_is_not_taken_for_one(
    tmp_path: Path, key: str, value: str, words: str
) -> None:
    error = refuse_file(tmp_path, tiny_llama().put(key, text(value)))
    assert (error.reason, words in error.message) == ("not_a_model", True)


@pytest.mark.proves("L3.architecture")
@pytest.mark.parametrize("value", [None, text(""), uint32(7)])
def test_file_without_an_architecture_is_refused(tmp_path: Path, value: Value | None) -> None:
    file = tiny_llama().drop("general.architecture")
    if value:
        file.put("general.architecture", value)
    assert refuse_file(tmp_path, file).reason == "architecture"


@pytest.mark.proves("L3.block_count")
@pytest.mark.parametrize("layers", [0, 513, 2**31 - 1, None])
def test_impossible_number_of_layers_is_refused(tmp_path: Path, layers: int | None) -> None:
    file = tiny_llama().drop("llama.block_count")
    if layers is not None:
        file.put("llama.block_count", uint32(layers))
    assert refuse_file(tmp_path, file).reason == "block_count"


@pytest.mark.proves("L3.field")
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("llama.context_length", text("4096")),
        ("llama.context_length", number(FLOAT32, 4096)),
        ("llama.context_length", number(BOOL, 1)),
        ("llama.context_length", number(UINT64, 2**31)),
        ("llama.attention.key_length", number(INT32, -1)),
        ("llama.embedding_length", array(INT32, [8])),
        ("llama.attention.key_length", array(INT32, [1, -1])),
        ("llama.attention.value_length", array(INT32, [])),
        ("llama.attention.sliding_window", array(STRING, ["1"])),
        ("llama.attention.head_count_kv", array(INT32, [1])),
        ("llama.attention.head_count_kv", array(INT32, [1, -1])),
        ("llama.attention.head_count_kv", array(FLOAT32, [1, 1])),
        ("llama.attention.head_count_kv", array(BOOL, [1, 1])),
        ("llama.embedding_length", None),
    ],
)
def test_fields_that_make_no_sense_are_refused(
    tmp_path: Path, key: str, value: Value | None
) -> None:
    file = tiny_llama().put(key, value) if value else tiny_llama().drop(key)
    error = refuse_file(tmp_path, file)
    assert (error.reason, key in error.message) == ("field", True)


@pytest.mark.proves("L3.tokenizer_type")
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("tokenizer.ggml.tokens", array(INT32, [1] * 16)),
        ("tokenizer.ggml.tokens", text("a")),
        ("tokenizer.ggml.scores", array(INT32, [1] * 16)),
        ("tokenizer.ggml.token_type", array(STRING, ["1"] * 16)),
        ("tokenizer.ggml.merges", array(FLOAT32, [1])),
    ],
)
def test_token_lists_of_the_wrong_type_are_refused(tmp_path: Path, key: str, value: Value) -> None:
    assert refuse_file(tmp_path, tiny_llama().put(key, value)).reason == "tokenizer_type"


@pytest.mark.proves("L3.tokenizer_length")
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("tokenizer.ggml.scores", array(FLOAT32, [1] * 15)),
        ("tokenizer.ggml.token_type", array(INT32, [])),
    ],
)
def test_token_lists_that_are_too_short_are_refused(tmp_path: Path, key: str, value: Value) -> None:
    assert refuse_file(tmp_path, tiny_llama().put(key, value)).reason == "tokenizer_length"


@pytest.mark.proves("L3.split_missing")
@pytest.mark.parametrize("lost", [1, 2])
def test_split_model_with_a_missing_part_is_refused(tmp_path: Path, lost: int) -> None:
    parts = write_split_model(tmp_path)
    parts[lost].unlink()
    error = refuse(parts[0])
    assert (error.reason, error.path) == ("split_missing", parts[lost])
    assert f"part {lost + 1} of the 3" in error.message


@pytest.mark.proves("L3.split_later")
def test_later_part_names_the_first(tmp_path: Path) -> None:
    error = refuse(write_split_model(tmp_path)[1])
    assert (error.reason, parts_named(error)) == ("split_later", "big-00001-of-00003.gguf")


def parts_named(error: BadModelFile) -> str:
    return error.next_step.removeprefix("Choose the first part, ").removesuffix(".")


def rename_to_another_count(parts: tuple[Path, ...]) -> Path:
    parts[1].rename(parts[1].with_name("big-00002-of-00002.gguf"))
    return parts[0].rename(parts[0].with_name("big-00001-of-00002.gguf"))


def rename_first(parts: tuple[Path, ...]) -> Path:
    return parts[0].rename(parts[0].with_name("renamed.gguf"))


def exchange_a_part(parts: tuple[Path, ...]) -> Path:
    parts[1].write_bytes(parts[2].read_bytes())
    return parts[0]


def take_a_whole_model_as_a_part(parts: tuple[Path, ...]) -> Path:
    write_tiny_model(parts[1])
    return parts[0]


def take_a_part_of_another_model(parts: tuple[Path, ...]) -> Path:
    part = GgufFile(tensors=[Tensor("t", (4,))])
    part.put("split.no", number(2, 1)).put("split.count", number(2, 3)).write(parts[1])
    return parts[0]


@pytest.mark.proves("L3.split_mixed")
@pytest.mark.parametrize(
    "spoil",
    [
        rename_first,
        rename_to_another_count,
        exchange_a_part,
        take_a_whole_model_as_a_part,
        take_a_part_of_another_model,
    ],
)
def test_parts_that_do_not_belong_together_are_refused(
    tmp_path: Path, spoil: Callable[[tuple[Path, ...]], Path]
) -> None:
    assert refuse(spoil(write_split_model(tmp_path))).reason == "split_mixed"


@pytest.mark.proves("L3.split_missing", "L3.tensor_extent")
def test_later_part_that_is_cut_is_refused_by_its_name(tmp_path: Path) -> None:
    parts = write_split_model(tmp_path)
    parts[1].write_bytes(parts[1].read_bytes()[:-64])
    error = refuse(parts[0])
    assert (error.reason, error.path) == ("tensor_extent", parts[1])


def test_name_in_a_refusal_cannot_steer_a_terminal(tmp_path: Path) -> None:
    path = tmp_path / "a\x1b[2J\n\u202e.gguf"
    path.write_bytes(b"<html>" + bytes(100))
    with pytest.raises(BadModelFile) as caught:
        read_header(path)
    assert caught.value.message.startswith("a\ufffd[2J\ufffd\ufffd.gguf is no GGUF file")
