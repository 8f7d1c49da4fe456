from __future__ import annotations

import json
import os
import socket
import subprocess
from pathlib import Path

import pytest

from shard_jupyter.core.files.file_change import read_whole, replace_file
from shard_jupyter.core.files.path_guard import (
    Located,
    is_within,
    locate,
    shown,
)
from shard_jupyter.core.files.safe_open import open_for_read
from shard_jupyter.errors import ToolFailed
from tests.conftest import DATA

pytestmark = pytest.mark.proves("A05", "A06")

CORPUS = [json.loads(line) for line in (DATA / "bad_paths.jsonl").read_bytes().split(b"\n") if line]


@pytest.fixture
def ws(tmp_path) -> Path:
    folder = tmp_path.resolve() / "ws"
    (folder / "src").mkdir(parents=True)
    (folder / "a.py").write_text("x\n", encoding="utf-8")
    (tmp_path / "ws-evil").mkdir()
    (tmp_path / "ws-evil" / "x").write_text("x", encoding="utf-8")
    (tmp_path / "secret").write_text("s", encoding="utf-8")
    return folder


@pytest.mark.parametrize("row", CORPUS, ids=[row["id"] for row in CORPUS])
def test_corpus_of_paths_is_judged_as_labelled(row, ws, clean_home):
    for command in row.get("setup", "").split(";"):
        if command and not command.startswith("race"):
            line = command.replace("$OUT", str(ws.parent))
            subprocess.run(["bash", "-c", line], cwd=ws, check=True)
    if row["path"] == "sock":
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(ws / "sock"))
    if row["id"] == "pa020":
        (ws / "swap").symlink_to("/tmp")
    given = row["path"].replace("$WS", str(ws)).replace("$HOME", str(clean_home))
    assert may_go_without_asking(ws, given, row["op"]) is row["allow"]


def may_go_without_asking(ws: Path, given: str, op: str) -> bool:
    """What the gate makes of it in its most generous mode, short of a person."""
    try:
        located = locate(ws, given)
    except ToolFailed:
        return False
    if op == "read":
        return located.inside and not located.secret
    return located.inside and not located.protected and not located.real.is_dir()


def test_longer_name_of_a_sibling_is_not_inside():
    assert is_within(Path("/srv/data/x"), Path("/srv/data"))
    assert not is_within(Path("/srv/data-secret/x"), Path("/srv/data"))


def test_link_is_followed_to_its_last_end_also_when_that_is_missing(ws):
    (ws / "a").symlink_to("b")
    (ws / "b").symlink_to("../made-later")
    located = locate(ws, "a")
    assert located.real == ws.parent / "made-later"
    assert not located.inside


def test_link_in_a_circle_is_refused(ws):
    (ws / "a").symlink_to("b")
    (ws / "b").symlink_to("a")
    with pytest.raises(ToolFailed, match="link that leads in a circle"):
        locate(ws, "a")


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("", "empty"),
        ("  ", "empty"),
        ("a\0b", "no file name can hold"),
        ("\ud800", "no file name can hold"),
        ("~/x", "~ is not expanded"),
        ("~root/x", "~ is not expanded"),
        ("https://x/y", "is a URL"),
        ("/dev/null", "a device"),
        ("x" * 300, "longer than 255 bytes"),
        ("d/" * 3000, "too long"),
    ],
)
def test_unusable_path_is_refused_in_words(given, reason, ws):
    with pytest.raises(ToolFailed, match=reason):
        locate(ws, given)


def test_pipe_is_refused_without_waiting_for_its_writer(ws):
    os.mkfifo(ws / "pipe")
    with pytest.raises(ToolFailed, match="a pipe"):
        locate(ws, "pipe")
    with pytest.raises(ToolFailed, match="changed while it was opened"):
        open_for_read(Located("pipe", ws / "pipe", inside=True))


def test_file_in_the_place_of_a_link_is_not_read_through_it(ws):
    located = locate(ws, "a.py")
    (ws / "a.py").unlink()
    (ws / "a.py").symlink_to(ws.parent / "secret")
    with pytest.raises(ToolFailed):
        read_whole(located)


def test_folder_exchanged_for_a_link_after_the_judgement_is_noticed(ws):
    (ws / "src" / "f").write_text("inside", encoding="utf-8")
    located = locate(ws, "src/f")
    (ws / "src").rename(ws / "old")
    (ws.parent / "ws-evil" / "f").write_text("outside", encoding="utf-8")
    (ws / "src").symlink_to(ws.parent / "ws-evil")
    with pytest.raises(ToolFailed, match="changed"):
        read_whole(located)
    with pytest.raises(ToolFailed, match="changed"):
        replace_file(located, b"written")
    assert (ws.parent / "ws-evil" / "f").read_text(encoding="utf-8") == "outside"


def test_names_that_keep_keys_are_secret_and_protected(ws):
    for name in (".env", ".env.local", "deploy.pem", "id_rsa", "Credentials.JSON"):
        located = locate(ws, name)
        assert located.secret, name
        assert located.protected
        assert located.why


def test_plain_file_has_nothing_against_it(ws):
    located = locate(ws, "src/new.py")
    assert located == Located("src/new.py", ws / "src" / "new.py", inside=True)


def test_invisible_characters_are_shown():
    assert shown("a\n\u202eb\x1b") == "a\\n\\u202eb\\x1b"
    assert shown(os.fsdecode(b"\xff")) == "\ufffd"
    assert shown("naïve.py") == "naïve.py"


@pytest.mark.parametrize("error", [FileNotFoundError(2, "gone"), OSError(22, "no link any more")])
@pytest.mark.parametrize(("times", "judged"), [(1, True), (2, True), (10_000, False)])
def test_a_link_that_comes_and_goes_is_looked_at_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, times: int, judged: bool, error: OSError
) -> None:
    """Between `lstat` and `readlink` a link can vanish or be replaced: then `realpath` raises."""
    realpath, left = os.path.realpath, [times]

    def vanishing(path: Path) -> str:
        if left[0]:
            left[0] -= 1
            raise error
        return realpath(path)

    workspace = tmp_path.resolve()
    monkeypatch.setattr(os.path, "realpath", vanishing)
    if judged:
        assert locate(workspace, "link").inside
    else:
        with pytest.raises(ToolFailed, match="changes while it is looked at"):
            locate(workspace, "link")
