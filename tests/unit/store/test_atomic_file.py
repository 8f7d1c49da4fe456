from __future__ import annotations

import stat
import threading
from pathlib import Path

import pytest

from shard_jupyter.errors import Bug
from shard_jupyter.store.atomic_file import (
    aappend_line,
    append_line,
    awrite_atomic,
    make_private_folder,
    write_atomic,
)

pytestmark = pytest.mark.proves("A11")


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_file_is_replaced_as_a_whole_and_is_private(tmp_path: Path) -> None:
    path = tmp_path / "grants.json"
    path.write_bytes(b"old" * 1000)
    write_atomic(path, b"new")
    assert path.read_bytes() == b"new"
    assert mode_of(path) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_the_mode_that_was_asked_for_is_set_whatever_the_umask(tmp_path: Path) -> None:
    write_atomic(tmp_path / "run.sh", b"#!/bin/sh\n", mode=0o755)
    assert mode_of(tmp_path / "run.sh") == 0o755


def test_a_failed_write_leaves_the_target_and_no_trace(tmp_path: Path) -> None:
    target = tmp_path / "taken"
    (target / "inside").mkdir(parents=True)
    with pytest.raises(OSError, match="taken"):
        write_atomic(target, b"data")
    assert list(tmp_path.iterdir()) == [target]


def test_a_name_as_long_as_names_can_be_is_written(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 255)
    write_atomic(path, b"data")
    assert path.read_bytes() == b"data"


async def test_the_async_wrappers_do_the_same(tmp_path: Path) -> None:
    await awrite_atomic(tmp_path / "a", b"one", mode=0o640)
    await aappend_line(tmp_path / "b", b"two", sync=True)
    assert (tmp_path / "a").read_bytes() == b"one"
    assert mode_of(tmp_path / "a") == 0o640
    assert (tmp_path / "b").read_bytes() == b"two\n"


@pytest.mark.proves("H4b.15")
def test_a_line_after_a_torn_line_is_not_glued_to_it(tmp_path: Path) -> None:
    path = tmp_path / "usage.jsonl"
    append_line(path, b"whole")
    with path.open("ab") as file:
        file.write(b"to")
    append_line(path, b"next")
    assert path.read_bytes() == b"whole\nto\nnext\n"
    assert mode_of(path) == 0o600


def test_a_record_with_a_line_end_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Bug):
        append_line(tmp_path / "log", b"two\nlines")


def test_lines_of_many_writers_never_mix(tmp_path: Path) -> None:
    path = tmp_path / "log"
    texts = [bytes([97 + number]) * 5000 for number in range(8)]

    def write(text: bytes) -> None:
        for _ in range(20):
            append_line(path, text)

    threads = [threading.Thread(target=write, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = [line for line in path.read_bytes().split(b"\n") if line]
    assert sorted(lines) == sorted(texts * 20)


def test_every_missing_folder_is_made_private(tmp_path: Path) -> None:
    make_private_folder(tmp_path / "a" / "b" / "c")
    assert [mode_of(tmp_path / name) for name in ("a", "a/b", "a/b/c")] == [0o700] * 3


def test_an_open_folder_is_closed_to_others_and_its_parent_left_alone(tmp_path: Path) -> None:
    (tmp_path / "shared" / "state").mkdir(parents=True, mode=0o755)
    (tmp_path / "shared").chmod(0o755)
    (tmp_path / "shared" / "state").chmod(0o755)
    make_private_folder(tmp_path / "shared" / "state")
    assert mode_of(tmp_path / "shared" / "state") == 0o700
    assert mode_of(tmp_path / "shared") == 0o755


def test_a_file_in_the_way_of_a_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "state").write_bytes(b"")
    with pytest.raises(NotADirectoryError):
        make_private_folder(tmp_path / "state")
    with pytest.raises(NotADirectoryError):
        make_private_folder(tmp_path / "state" / "below")
