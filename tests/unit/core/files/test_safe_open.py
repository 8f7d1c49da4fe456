from __future__ import annotations

import os
from pathlib import Path

import pytest

from shard_jupyter.core.files.path_guard import locate
from shard_jupyter.core.files.safe_open import open_folder, open_for_read, open_parent, status_of
from shard_jupyter.errors import ToolFailed

pytestmark = pytest.mark.proves("T53", "A05")


@pytest.fixture
def ws(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "ws"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "f").write_bytes(b"inside")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "f").write_bytes(b"outside")
    return folder


def swap(ws: Path) -> None:
    (ws / "src").rename(ws / "was")
    (ws / "src").symlink_to("../out")


def test_folder_that_became_a_link_is_not_listed(ws: Path) -> None:
    located = locate(ws, "src")
    swap(ws)
    with pytest.raises(ToolFailed, match="changed while it was opened"), open_folder(located):
        pass


def test_status_of_what_became_a_link_is_that_of_nothing(ws: Path) -> None:
    located = locate(ws, "src/f")
    assert status_of(located) is not None
    swap(ws)
    assert status_of(located) is None


def test_folder_in_the_place_of_a_file_is_said_to_be_one(ws: Path) -> None:
    with pytest.raises(ToolFailed, match="is a folder"):
        open_for_read(locate(ws, "src"))
    with pytest.raises(ToolFailed, match="is a file"), open_folder(locate(ws, "src/f")):
        pass


def test_pipe_put_there_meanwhile_does_not_hang(ws: Path) -> None:
    located = locate(ws, "src/f")
    (ws / "src" / "f").unlink()
    os.mkfifo(ws / "src" / "f")
    with pytest.raises(ToolFailed, match="changed while it was opened"):
        open_for_read(located)


def test_allowed_place_outside_is_opened_only_under_its_own_name(ws: Path) -> None:
    located = locate(ws, "../out/f")
    with os.fdopen(open_for_read(located), "rb") as file:
        assert file.read() == b"outside"
    (ws.parent / "out").rename(ws.parent / "was")
    (ws.parent / "out").symlink_to("ws/src")
    with pytest.raises(ToolFailed, match="changed"):
        open_for_read(located)
    with pytest.raises(ToolFailed, match="changed"), open_parent(located):
        pass
    with pytest.raises(ToolFailed, match="changed"), open_folder(locate_moved(ws)):
        pass


def locate_moved(ws: Path):
    """A folder outside that was judged before a link took the place of the one above it."""
    (ws.parent / "out").unlink()
    (ws.parent / "out" / "deep").mkdir(parents=True)
    located = locate(ws, "../out/deep")
    (ws.parent / "out").rename(ws.parent / "was2")
    (ws / "deep").mkdir()
    (ws.parent / "out").symlink_to("ws")
    return located


def test_no_descriptor_is_left_open(ws: Path) -> None:
    folder = Path("/proc/self/fd")
    if not folder.is_dir():
        pytest.skip("open files cannot be counted here")
    before = len(list(folder.iterdir()))
    for given in ("src", "src/f", "none", "src/f/below", "../out", "../out/f"):
        located = locate(ws, given)
        for use in (open_folder, open_parent):
            try:
                with use(located):
                    pass
            except (ToolFailed, OSError):
                continue
        try:
            os.close(open_for_read(located))
        except ToolFailed:
            pass
        status_of(located)
    assert len(list(folder.iterdir())) == before
