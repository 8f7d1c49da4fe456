"""Reads a file that has to be refused, and checks what every refusal keeps to."""

from __future__ import annotations

from pathlib import Path

import pytest

from shard_jupyter.capabilities.local_models.gguf.read_header import read_header
from shard_jupyter.capabilities.local_models.gguf.refusals import BadModelFile
from shard_jupyter.errors import UserError
from tests.fakes.gguf_file import GgufFile


def refuse(path: Path) -> BadModelFile:
    with pytest.raises(BadModelFile) as caught:
        read_header(path)
    error = caught.value
    assert isinstance(error, UserError)
    assert error.code == "bad_model_file"
    assert error.message.startswith(error.path.name[:200])
    assert error.message.endswith((".", "!"))
    assert error.next_step.endswith(".")
    return error


def refuse_bytes(folder: Path, data: bytes) -> BadModelFile:
    path = folder / "m.gguf"
    path.write_bytes(data)
    return refuse(path)


def refuse_file(folder: Path, file: GgufFile) -> BadModelFile:
    return refuse(file.write(folder / "m.gguf"))
