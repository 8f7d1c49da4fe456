"""What a command did to names that other programs obey is seen, whether they existed or not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from shard_jupyter.core.sandbox.watched_names import (
    Changes,
    compare,
    find_read_only,
    take_snapshot,
)

pytestmark = pytest.mark.proves("T57")


def write(path: Path, text: str = "x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def changes_by(ws: Path, act: object) -> Changes:
    before = take_snapshot(ws)
    act()  # type: ignore[operator]
    return compare(before, take_snapshot(ws))


@pytest.mark.parametrize(
    "name",
    [".git/hooks/pre-commit", ".git/config", ".vscode/settings.json", ".shard/rules/a.json",
     ".mcp.json", ".envrc", "AGENTS.md", ".VSCode/tasks.json", "Makefile", ".claude/settings.json",
     ".hg/hgrc", "conftest.py"],
)  # fmt: skip
def test_what_did_not_exist_is_seen_when_it_is_made(tmp_path: Path, name: str) -> None:
    (tmp_path / ".git").mkdir()
    changes = changes_by(tmp_path, lambda: write(tmp_path / name))
    assert name in changes.created
    assert not changes.changed
    assert name.split("/")[0] in changes.in_words()


@pytest.mark.parametrize("name", [".git/config", ".vscode/settings.json", "package.json"])
def test_a_change_is_seen_also_where_size_and_time_are_put_back(tmp_path: Path, name: str) -> None:
    file = write(tmp_path / name, "one")
    found = file.stat()

    def swap() -> None:
        file.write_text("two", encoding="utf-8")
        os.utime(file, ns=(found.st_atime_ns, found.st_mtime_ns))

    assert changes_by(tmp_path, swap) == Changes(changed=(name,))
    assert changes_by(tmp_path, lambda: file.chmod(0o755)) == Changes(changed=(name,))
    assert changes_by(tmp_path, file.unlink) == Changes(removed=(name,))


def test_a_folder_that_becomes_a_link_is_seen(tmp_path: Path) -> None:
    write(tmp_path / ".vscode/settings.json")
    (tmp_path / "other").mkdir()

    def swap() -> None:
        (tmp_path / ".vscode").rename(tmp_path / "old")
        (tmp_path / ".vscode").symlink_to("other")

    changes = changes_by(tmp_path, swap)
    assert ".vscode" in changes.changed
    assert ".vscode/settings.json" in changes.removed


def test_ordinary_work_is_no_change(tmp_path: Path) -> None:
    write(tmp_path / ".git/config")

    def work() -> None:
        for name in ("src/a.py", ".git/objects/aa/b", ".git/index", "node_modules/x/index.js",
                     ".venv/bin/python", "sub/.vscode/settings.json", "report.ipynb"):  # fmt: skip
            write(tmp_path / name)

    assert not changes_by(tmp_path, work)


def test_what_is_read_only_is_what_exists_and_is_obeyed(tmp_path: Path) -> None:
    for name in (".git/config", ".git/HEAD", ".git/hooks/a", ".vscode/x", ".envrc", "Makefile",
                 ".venv/x", "a.py"):  # fmt: skip
        write(tmp_path / name)
    found = [str(path.relative_to(tmp_path)) for path in find_read_only(tmp_path)]
    assert sorted(found) == [".envrc", ".git/config", ".git/hooks", ".vscode"]
    assert find_read_only(tmp_path / "absent") == ()


def test_long_lists_are_cut_and_odd_names_made_visible() -> None:
    names = tuple(f".vscode/{n}" for n in range(9))
    told = Changes(created=names, removed=(".vscode/\u202ea\n",)).in_words()
    assert "and 4 more; removed" in told
    assert "\u202e" not in told
    assert "\n" not in told
