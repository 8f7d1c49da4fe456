"""What a server says of itself, and which answers are not believed."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest

from shard_jupyter.capabilities.local_models.servers.server_probe import (
    ServerWord,
    StrangerError,
    is_answering,
    is_listening,
    read_answer,
)

pytestmark = pytest.mark.proves("A13", "L5.healthy")


def props(path: Path, **changed: Any) -> bytes:
    said = {
        "model_path": str(path),
        "default_generation_settings": {"n_ctx": 4096},
        "chat_template": "{{ a }}",
        "chat_template_caps": {"supports_tools": False},
    }
    return json.dumps({**said, **changed}).encode()


def test_all_is_read_from_the_properties(tmp_path: Path) -> None:
    word = read_answer(props(tmp_path), "llama-server", tmp_path)
    assert word == ServerWord(4096, False, "{{ a }}")


def test_what_an_older_server_does_not_say_stays_open(tmp_path: Path) -> None:
    body = props(tmp_path, chat_template_caps=None, chat_template=None)
    assert read_answer(body, "llama-server", tmp_path) == ServerWord(4096, None, "")


def test_the_same_file_by_another_name_is_the_same_model(tmp_path: Path) -> None:
    file, link = tmp_path / "a.gguf", tmp_path / "b.gguf"
    file.touch()
    link.symlink_to(file)
    assert read_answer(props(file), "llama-server", link).context_tokens == 4096


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>", b"[]", b"{}", b'{"model_path": null}', b"\xff", b"[" * 100_000],
)
def test_an_answer_that_cannot_be_read_is_not_believed(body: bytes, tmp_path: Path) -> None:
    for dialect in ("llama-server", "llama-cpp-python"):
        with pytest.raises(StrangerError):
            read_answer(body, dialect, tmp_path)


def test_the_other_dialect_names_its_model_in_a_list(tmp_path: Path) -> None:
    body = json.dumps({"data": [{"id": str(tmp_path)}]}).encode()
    assert read_answer(body, "llama-cpp-python", tmp_path) == ServerWord(None, None, "")
    with pytest.raises(StrangerError, match="another model"):
        read_answer(body, "llama-cpp-python", tmp_path / "x")


@pytest.mark.proves("L5.port")
def test_whose_port_it_is_can_be_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        assert is_listening(os.getpid(), port) is True
        assert is_listening(os.getppid(), port) is not True
    assert is_listening(os.getpid(), port) is False
    assert is_listening(2**22 - 1, port) is False


def test_only_a_port_that_nobody_serves_counts_as_dead() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        assert is_answering(url)  # busy: it takes the connection and says nothing in time
    assert not is_answering(url)
