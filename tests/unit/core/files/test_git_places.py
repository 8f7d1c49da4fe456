"""Which repositories are taken for what they seem to be."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from shard_jupyter.core.files.git_places import check_files, find_repository
from shard_jupyter.errors import ToolFailed

pytestmark = pytest.mark.proves("T77")


def _git(cwd: Path, *argv: str) -> None:
    settings = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always")
    subprocess.run(["git", *settings, *argv], cwd=cwd, check=True, capture_output=True)


def make_repository(folder: Path) -> Path:
    folder.mkdir()
    (folder / "a").write_text("a\n", encoding="utf-8")
    _git(folder, "init", "-q")
    _git(folder, "add", ".")
    _git(folder, "commit", "-qm", "a")
    return folder


@pytest.fixture
def top(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "top")


def test_repository_is_found_from_a_folder_in_it(top: Path) -> None:
    (top / "b" / "c").mkdir(parents=True)

    found = find_repository(top / "b" / "c")

    assert found is not None
    assert (found.top, found.git_dir) == (top, top / ".git")


def test_repository_is_found_through_a_link_to_its_folder(top: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(top)

    found = find_repository(tmp_path / "link")

    assert found is not None
    assert found.top == top


def test_folder_outside_of_any_repository_has_none(tmp_path: Path) -> None:
    assert find_repository(tmp_path) is None


def test_linked_work_tree_is_taken(top: Path, tmp_path: Path) -> None:
    _git(top, "worktree", "add", "-q", str(tmp_path / "linked"))

    found = find_repository(tmp_path / "linked")

    assert found is not None
    assert found.git_dir == top / ".git" / "worktrees" / "linked"


def test_submodule_is_taken(top: Path, tmp_path: Path) -> None:
    make_repository(tmp_path / "inner")
    _git(top, "submodule", "add", "-q", str(tmp_path / "inner"), "sub")

    found = find_repository(top / "sub")

    assert found is not None
    assert found.git_dir == top / ".git" / "modules" / "sub"


@pytest.mark.parametrize("target", ["../top/.git", "../top/.git/worktrees/linked", "{top}/.git"])
def test_planted_pointer_to_another_repository_is_refused(
    top: Path, tmp_path: Path, target: str
) -> None:
    _git(top, "worktree", "add", "-q", str(tmp_path / "linked"))
    planted = tmp_path / "planted"
    planted.mkdir()
    (planted / ".git").write_text(f"gitdir: {target.format(top=top)}\n", encoding="utf-8")

    with pytest.raises(ToolFailed):
        find_repository(planted)


def test_link_to_another_repository_is_refused(top: Path, tmp_path: Path) -> None:
    planted = tmp_path / "planted"
    planted.mkdir()
    (planted / ".git").symlink_to(top / ".git")

    with pytest.raises(ToolFailed):
        find_repository(planted)


def test_planted_common_folder_is_refused(top: Path, tmp_path: Path) -> None:
    planted = make_repository(tmp_path / "planted")
    (planted / ".git" / "commondir").write_text(f"{top}/.git\n", encoding="utf-8")

    with pytest.raises(ToolFailed):
        find_repository(planted)


@pytest.mark.parametrize(
    "place",
    ["packed-refs", "HEAD2", "info/grafts", "objects/info/alternates", "rebase-merge/done",
     "refs/heads/x", "objects/pack/x", "logs/refs/x", "shallow"],
)  # fmt: skip
def test_link_inside_of_a_repository_is_refused(top: Path, tmp_path: Path, place: str) -> None:
    (tmp_path / "secret").write_text("hunter2\n", encoding="utf-8")
    link = top / ".git" / place
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(tmp_path / "secret")

    with pytest.raises(ToolFailed, match=link.name):
        find_repository(top)


@pytest.mark.parametrize("place", ["refs", "objects", "objects/ab", "logs"])
def test_folder_that_is_a_link_is_refused(top: Path, tmp_path: Path, place: str) -> None:
    other = make_repository(tmp_path / "other")
    link = top / ".git" / place
    if link.exists():
        link.rename(tmp_path / "moved")
    link.symlink_to(other / ".git" / "refs")

    with pytest.raises(ToolFailed):
        find_repository(top)


def test_linked_hooks_are_no_reason_to_refuse(top: Path, tmp_path: Path) -> None:
    (top / ".git" / "hooks").mkdir(exist_ok=True)
    (top / ".git" / "hooks" / "pre-commit").symlink_to(tmp_path / "hook")

    assert find_repository(top) is not None


@pytest.mark.parametrize("content", [b"", b"gitdir: ", b"x\n", b"gitdir: a\nb", b"gitdir: a\0b"])
def test_pointer_that_is_none_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / ".git").write_bytes(content)

    with pytest.raises(ToolFailed):
        find_repository(tmp_path)


def test_files_outside_of_the_repository_are_refused(top: Path, tmp_path: Path) -> None:
    found = find_repository(top)
    assert found is not None
    (top / "link").symlink_to(tmp_path / "secret")

    check_files(found, ["a", ".git-blame-ignore-revs"])
    for file in ("../secret", "/etc/passwd", "link"):
        with pytest.raises(ToolFailed):
            check_files(found, [file])
