"""Native code sees no malformed file: every refusal of reference §3, in words with a next step."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import anyio
import pytest

from tests.fakes.gguf_file import (
    ARRAY,
    INT32,
    STRING,
    UINT32,
    UINT64,
    Value,
    array,
    text,
    tiny_llama,
    uint32,
    write_text,
    write_tiny_model,
)
from tests.unit.capabilities.local_models.gguf.refusing import refuse, refuse_bytes, refuse_file

pytestmark = pytest.mark.proves("C10")


@pytest.mark.proves("L3.missing")
def test_missing_file_is_refused(tmp_path: Path) -> None:
    write_tiny_model(tmp_path / "file")
    assert refuse(tmp_path / "none.gguf").reason == "missing"
    assert refuse(tmp_path / "file/none.gguf").reason == "missing"
    (tmp_path / "dangling.gguf").symlink_to("nowhere")
    assert refuse(tmp_path / "dangling.gguf").reason == "missing"


@pytest.mark.proves("L3.unreadable")
def test_unreadable_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").symlink_to("m.gguf")
    error = refuse(tmp_path / "m.gguf")
    assert error.reason == "unreadable"
    assert "levels of symbolic links" in error.message
    assert refuse(tmp_path / ("n" * 300)).reason == "unreadable"


@pytest.mark.proves("L3.not_a_file")
async def test_pipe_is_refused_without_waiting_for_its_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "m.gguf")
    with anyio.fail_after(5):
        error = await anyio.to_thread.run_sync(refuse, tmp_path / "m.gguf")
    assert error.reason == "not_a_file"


@pytest.mark.proves("L3.not_a_file")
def test_folder_and_device_are_refused(tmp_path: Path) -> None:
    assert "a folder" in refuse(tmp_path).message
    assert refuse(Path("/dev/zero")).reason == "not_a_file"


@pytest.mark.proves("L3.too_small")
@pytest.mark.parametrize("size", [0, 1, 23])
def test_file_that_is_too_small_is_refused(tmp_path: Path, size: int) -> None:
    error = refuse_bytes(tmp_path, tiny_llama().to_bytes()[:size])
    assert error.reason == "too_small"
    assert ("empty" if size == 0 else f"{size} bytes") in error.message


@pytest.mark.proves("L3.magic")
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"<!DOCTYPE html><html><body>404</body></html>", "web page"),
        (b"\xef\xbb\xbf\r\n <html><head><title>Sign in</title>", "web page"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n", "Git-LFS pointer"),
        (b"FUGG" + bytes(40), "other way round"),
        (b"PK\x03\x04" + bytes(40), "no GGUF file."),
        (b"GGML" + bytes(40), "no GGUF file."),
    ],
)
def test_wrong_magic_names_the_likely_cause(tmp_path: Path, content: bytes, words: str) -> None:
    error = refuse_bytes(tmp_path, content)
    assert error.reason == "magic"
    assert words in error.message


@pytest.mark.proves("L3.big_endian")
def test_big_endian_file_is_refused(tmp_path: Path) -> None:
    file = tiny_llama()
    file.byte_order = ">"
    assert refuse_file(tmp_path, file).reason == "big_endian"


@pytest.mark.proves("L3.version")
@pytest.mark.parametrize("version", [0, 1, 4, 65_537])
def test_unknown_version_is_refused(tmp_path: Path, version: int) -> None:
    file = tiny_llama()
    file.version = version
    error = refuse_file(tmp_path, file)
    assert (error.reason, f"version {version}" in error.message) == ("version", True)


@pytest.mark.proves("L3.key_count")
@pytest.mark.parametrize("count", [1_000, 100_001, 2**63, 2**64 - 1])
def test_too_many_keys_are_refused(tmp_path: Path, count: int) -> None:
    file = tiny_llama()
    file.key_count = count
    assert refuse_file(tmp_path, file).reason == "key_count"


@pytest.mark.proves("L3.tensor_count")
@pytest.mark.parametrize("count", [1_000, 1_000_001, 2**64 - 1])
def test_too_many_tensors_are_refused(tmp_path: Path, count: int) -> None:
    file = tiny_llama()
    file.tensor_count = count
    assert refuse_file(tmp_path, file).reason == "tensor_count"


@pytest.mark.proves("L3.key_count")
def test_more_keys_than_any_model_has_are_refused_in_a_large_file_too(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 1, 100_001))
    os.truncate(path, 1 << 30)
    assert refuse(path).reason == "key_count"
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 1_000_001, 1))
    os.truncate(path, 1 << 30)
    assert refuse(path).reason == "tensor_count"


@pytest.mark.proves("L3.string_length")
@pytest.mark.parametrize(
    "value",
    [
        Value(STRING, struct.pack("<Q", 2**63)),
        Value(STRING, struct.pack("<Q", 2**64 - 1)),
        Value(STRING, struct.pack("<Q", 100_000)),
        Value(ARRAY, struct.pack("<IQQ", STRING, 2, 2**64 - 9)),
        Value(ARRAY, struct.pack("<IQQ", STRING, 1, 2**40)),
    ],
)
@pytest.mark.parametrize("key", ["general.name", "x.y"])
def test_text_that_ends_beyond_the_file_is_refused(tmp_path: Path, key: str, value: Value) -> None:
    assert refuse_file(tmp_path, tiny_llama().put(key, value)).reason == "string_length"


@pytest.mark.proves("L3.string_length")
def test_endless_texts_and_names_are_refused(tmp_path: Path) -> None:
    long = tiny_llama().put("tokenizer.chat_template", text("x" * (4 << 20) + "y"))
    assert refuse_file(tmp_path, long).reason == "string_length"
    assert refuse_file(tmp_path, tiny_llama().put("k" * 2000, uint32(1))).reason == "string_length"


@pytest.mark.proves("L3.array_length")
@pytest.mark.parametrize("kind", [0, UINT32, STRING, UINT64])
@pytest.mark.parametrize("count", [100_000, 2**61, 2**64 - 1])
def test_array_that_ends_beyond_the_file_is_refused(tmp_path: Path, kind: int, count: int) -> None:
    file = tiny_llama().put("x.y", array(kind, [], count=count))
    assert refuse_file(tmp_path, file).reason == "array_length"


@pytest.mark.proves("L3.array_length")
def test_more_texts_than_any_vocabulary_has_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    head = b"GGUF" + struct.pack("<IQQ", 3, 1, 1) + write_text("tokenizer.ggml.tokens")
    path.write_bytes(head + struct.pack("<IIQ", ARRAY, STRING, 8_000_001))
    os.truncate(path, 1 << 30)
    assert refuse(path).reason == "array_length"


@pytest.mark.proves("L3.array_length")
def test_array_for_layers_that_is_absurdly_long_is_refused(tmp_path: Path) -> None:
    file = tiny_llama().put("llama.attention.head_count_kv", array(INT32, [1] * 5000))
    assert refuse_file(tmp_path, file).reason == "array_length"


@pytest.mark.proves("L3.cut")
def test_file_that_ends_in_its_header_is_refused_wherever_it_ends(tmp_path: Path) -> None:
    data = tiny_llama().to_bytes()
    errors = [refuse_bytes(tmp_path, data[:size]) for size in range(24, len(data), 7)]
    assert {"cut", "string_length", "tensor_extent"} <= {error.reason for error in errors}
    assert not any("became shorter" in error.message for error in errors)


@pytest.mark.proves("L3.key_empty")
def test_key_without_a_name_is_refused(tmp_path: Path) -> None:
    assert refuse_file(tmp_path, tiny_llama().put("", uint32(1))).reason == "key_empty"


@pytest.mark.proves("L3.key_duplicate")
def test_key_that_comes_twice_is_refused(tmp_path: Path) -> None:
    file = tiny_llama()
    file.keys.append(("llama.block_count", uint32(2)))
    assert refuse_file(tmp_path, file).reason == "key_duplicate"


@pytest.mark.proves("L3.key_utf8")
@pytest.mark.parametrize("name", [b"x\xff", b"\xc3", b"\xed\xa0\x80", b"\xc0\xaf"])
def test_key_that_is_not_utf8_is_refused(tmp_path: Path, name: bytes) -> None:
    file = tiny_llama()
    file.keys.append((name, uint32(2)))
    assert refuse_file(tmp_path, file).reason == "key_utf8"


@pytest.mark.proves("L3.nested_array")
def test_array_of_arrays_is_refused(tmp_path: Path) -> None:
    file = tiny_llama().put("x.y", Value(ARRAY, struct.pack("<IQ", ARRAY, 0)))
    assert refuse_file(tmp_path, file).reason == "nested_array"


@pytest.mark.proves("L3.value_type")
@pytest.mark.parametrize("value", [Value(13, bytes(8)), Value(ARRAY, struct.pack("<IQ", 13, 0))])
def test_unknown_type_of_value_is_refused(tmp_path: Path, value: Value) -> None:
    assert refuse_file(tmp_path, tiny_llama().put("x.y", value)).reason == "value_type"
