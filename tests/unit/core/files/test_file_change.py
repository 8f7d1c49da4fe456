from __future__ import annotations

import os

import pytest

from shard_jupyter.core.files.file_change import read_if_there, replace_file
from shard_jupyter.core.files.path_guard import locate
from shard_jupyter.errors import ToolFailed

pytestmark = pytest.mark.proves("A05", "H4e.53")


@pytest.fixture
def ws(tmp_path):
    return tmp_path.resolve()


def test_mode_is_kept(ws):
    file = ws / "run.sh"
    file.write_text("old", encoding="utf-8")
    file.chmod(0o751)
    replace_file(locate(ws, "run.sh"), b"new")
    assert file.read_bytes() == b"new"
    assert file.stat().st_mode & 0o7777 == 0o751


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_owner_is_kept(ws):
    file = ws / "a"
    file.write_text("old", encoding="utf-8")
    os.chown(file, 12, 34)
    replace_file(locate(ws, "a"), b"new")
    assert (file.stat().st_uid, file.stat().st_gid) == (12, 34)


@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_new_file_follows_the_umask_and_gets_its_folders(ws, mask):
    before = os.umask(mask)
    try:
        replace_file(locate(ws, "deep/er/new.txt"), b"x")
    finally:
        os.umask(before)
    assert (ws / "deep/er/new.txt").stat().st_mode & 0o777 == 0o666 & ~mask


def test_link_stays_a_link_and_its_target_changes(ws):
    (ws / "target").write_text("old", encoding="utf-8")
    (ws / "link").symlink_to("target")
    replace_file(locate(ws, "link"), b"new")
    assert (ws / "link").is_symlink()
    assert (ws / "target").read_bytes() == b"new"


def test_other_hard_link_keeps_the_old_content(ws):
    (ws / "a").write_text("old", encoding="utf-8")
    (ws / "b").hardlink_to(ws / "a")
    replace_file(locate(ws, "a"), b"new")
    assert (ws / "b").read_bytes() == b"old"


def test_nothing_is_left_behind_when_it_fails(ws):
    (ws / "folder").mkdir()
    with pytest.raises(ToolFailed, match="no regular file"):
        replace_file(locate(ws, "folder"), b"x")
    (ws / "file").write_text("x", encoding="utf-8")
    with pytest.raises(ToolFailed, match="goes through something that is no folder"):
        replace_file(locate(ws, "file/below"), b"x")
    assert sorted(p.name for p in ws.iterdir()) == ["file", "folder"]


def test_reader_sees_old_or_new_and_never_a_part(ws):
    file = ws / "a"
    file.write_bytes(b"o" * 100_000)
    with file.open("rb") as reader:
        replace_file(locate(ws, "a"), b"n" * 50_000)
        assert reader.read() == b"o" * 100_000
    assert file.read_bytes() == b"n" * 50_000


def test_absent_file_is_none(ws):
    assert read_if_there(locate(ws, "none")) is None


def test_file_over_the_limit_is_refused(ws):
    with (ws / "big").open("wb") as file:
        file.truncate(33 << 20)
    with pytest.raises(ToolFailed, match="34,603,008 bytes; 33,554,432 is the limit"):
        read_if_there(locate(ws, "big"))


@pytest.mark.proves("T54")
def test_something_that_waits_under_the_name_of_the_temporary_file_is_not_written(ws, monkeypatch):
    monkeypatch.setattr("secrets.token_hex", lambda size: "0" * size)
    victim = ws / "victim"
    victim.write_text("old", encoding="utf-8")
    (ws / ".shard-00000000.tmp").symlink_to(victim)
    with pytest.raises(ToolFailed):
        replace_file(locate(ws, "new"), b"x")
    assert victim.read_text(encoding="utf-8") == "old"
    assert not (ws / "new").exists()


def test_name_and_content_are_on_disk_when_it_returns(ws, monkeypatch):
    synced, fsync = [], os.fsync

    def note(descriptor):
        synced.append(os.fstat(descriptor).st_ino)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    replace_file(locate(ws, "a/b"), b"x")
    wanted = [ws, (ws / "a" / "b"), ws / "a"]  # the new folder's name, the content, the file's name
    assert synced == [path.stat().st_ino for path in wanted]


def test_workspace_itself_is_no_file(ws):
    with pytest.raises(ToolFailed, match="is no regular file"):
        replace_file(locate(ws, "."), b"x")
    assert list(ws.iterdir()) == []
