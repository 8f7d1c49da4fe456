"""Files that a prompt names: what is read, how much, and what is refused before it is read."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from shard_jupyter.errors import UsageError
from shard_jupyter.surfaces.magics.attachments.attached_files import (
    MAX_FILE_BYTES,
    TAIL_BYTES,
    read_attached_file,
)

pytestmark = pytest.mark.proves("D02")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def refused(folder: Path, given: str) -> str:
    with pytest.raises(UsageError) as error:
        read_attached_file(folder, given)
    assert error.value.message.startswith("@file: ")
    assert error.value.next_step
    assert "\n" not in str(error.value)
    return error.value.message


@pytest.mark.parametrize(
    "name", ["a.csv", "my file.csv", "sub/deep/caf\u00e9.txt", "-x", "conftest.py"]
)
def test_a_text_file_is_read_as_it_is(folder: Path, name: str) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes("a,b\r\n1,\u00e9\n".encode())
    file = read_attached_file(folder, name)
    assert (file.name, file.text, file.size_bytes) == (name, "a,b\r\n1,\u00e9\n", 10)


def test_an_absolute_path_and_a_link_within_the_folder_are_read(folder: Path) -> None:
    (folder / "a.txt").write_bytes(b"x")
    (folder / "link").symlink_to("a.txt")
    assert read_attached_file(folder, str(folder / "a.txt")).name == "a.txt"
    assert read_attached_file(folder, "./link").name == "a.txt"


def test_an_empty_file_and_a_byte_order_mark_are_fine(folder: Path) -> None:
    (folder / "empty").write_bytes(b"")
    (folder / "bom").write_bytes(b"\xef\xbb\xbfx")
    assert read_attached_file(folder, "empty").text == ""
    assert read_attached_file(folder, "bom").text == "x"


def test_of_a_long_file_head_and_tail_are_read(folder: Path) -> None:
    data = (
        "\u00e9" * MAX_FILE_BYTES + "end"
    ).encode()  # two bytes each, so that a cut may tear one
    (folder / "long").write_bytes(b"s" + data)
    file = read_attached_file(folder, "long")
    head, note, tail = file.text.split("\n")
    assert head == "s" + "\u00e9" * ((MAX_FILE_BYTES - TAIL_BYTES) // 2 - 1)
    assert tail == "\u00e9" * ((TAIL_BYTES - 3) // 2) + "end"
    left_out = len(data) + 1 - len(head.encode()) - len(tail.encode())
    assert note == f"[… {left_out:,} of {len(data) + 1:,} bytes left out …]"


def test_a_file_at_the_limit_is_read_whole(folder: Path) -> None:
    (folder / "full").write_bytes(b"x" * MAX_FILE_BYTES)
    assert read_attached_file(folder, "full").text == "x" * MAX_FILE_BYTES


def test_what_is_not_there_is_refused(folder: Path) -> None:
    assert refused(folder, "missing.csv") == "@file: missing.csv does not exist."
    assert "empty" in refused(folder, " ")
    assert "~ is not expanded" in refused(folder, "~/a.csv")
    assert "is a URL" in refused(folder, "https://example.org/a.csv")
    assert "character" in refused(folder, "a\0b")


def test_what_is_no_text_file_is_refused(folder: Path) -> None:
    (folder / "sub").mkdir()
    os.mkfifo(folder / "pipe")
    (folder / "binary").write_bytes(b"a\0b")
    (folder / "latin").write_bytes(b"caf\xe9")
    (folder / "late").write_bytes(b"x" * MAX_FILE_BYTES + b"\xff" * 40)
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(folder / "socket"))
        assert refused(folder, "sub") == "@file: sub is a folder."
        assert "is no file but a pipe" in refused(folder, "pipe")
        assert "is no file but a socket" in refused(folder, "socket")
        assert "outside" in refused(folder, "/dev/zero") or "device" in refused(folder, "/dev/zero")
    for name in ("binary", "latin", "late"):
        assert refused(folder, name) == f"@file: {name} is no text in UTF-8."


@pytest.mark.parametrize(
    "given", ["../outside", "/etc/passwd", "link", "sub/../../outside", "/proc/self/cwd/a"]
)
def test_what_lies_elsewhere_is_refused(folder: Path, given: str) -> None:
    (folder.parent / "outside").write_bytes(b"x")
    (folder / "link").symlink_to("../outside")
    (folder / "sub").mkdir()
    (folder / "a").write_bytes(b"x")
    assert "lies outside of" in refused(folder, given)


@pytest.mark.parametrize(
    "name", [".env", ".ENV.local", "id_rsa", "server.pem", ".netrc", "credentials", ".ssh/config", ".git/config"]
)  # fmt: skip
def test_what_may_hold_keys_is_refused(folder: Path, name: str) -> None:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_bytes(b"x")
    (folder / "link").symlink_to(name)
    assert "may hold keys or passwords" in refused(folder, name)
    assert "may hold keys or passwords" in refused(folder, "link")


def test_a_name_that_would_change_the_terminal_is_made_harmless(folder: Path) -> None:
    assert "\x1b" not in refused(folder, "a\x1b[31mb")
    (folder / "a\x1b[31mb").write_bytes(b"x")
    assert "\x1b" not in read_attached_file(folder, "a\x1b[31mb").name
