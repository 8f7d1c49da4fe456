"""A file that changes under the reader is an ordinary refusal."""

from __future__ import annotations

import os
from pathlib import Path

import psutil
import pytest

from shard_jupyter.capabilities.local_models.gguf.header_bytes import open_header
from shard_jupyter.capabilities.local_models.gguf.refusals import BadModelFile
from tests.fakes.gguf_file import write_text

pytestmark = pytest.mark.proves("C10", "L3.cut")


def test_file_that_is_cut_while_it_is_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(bytes(10_000))
    with open_header(path, 100) as source:
        source.read(100)
        os.truncate(path, 120)
        with pytest.raises(BadModelFile, match="became shorter") as caught:
            source.skip_strings(1000)
    assert caught.value.reason == "cut"


@pytest.mark.parametrize("piece", [1, 7, 8, 9, 64, 1000])
def test_pieces_of_any_size_give_the_same_bytes(tmp_path: Path, piece: int) -> None:
    texts = [b"x" * (index * 37 % 101) for index in range(50)]
    data = b"".join(write_text(text) for text in texts) + b"end"
    path = tmp_path / "m.gguf"
    path.write_bytes(data)
    with open_header(path, piece) as source:
        source.skip_strings(20)
        for text in texts[20:30]:
            assert source.read(source.read_length()) == text
        source.skip_strings(20)
        assert (source.rest, source.read(3)) == (3, b"end")
        assert source.position == len(data)


def test_descriptor_is_closed_after_a_refusal(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(b"short")
    before = psutil.Process().num_fds()
    for _ in range(20):
        with pytest.raises(BadModelFile), open_header(tmp_path / "m.gguf"):
            pass
    after = psutil.Process().num_fds()
    assert after == before
