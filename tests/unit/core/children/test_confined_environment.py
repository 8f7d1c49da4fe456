"""What a command sees that runs because it only reads."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from shard_jupyter.core.children.confined_environment import confined_environment

pytestmark = pytest.mark.proves("A06", "T44")
SYSTEM = ["/usr/local/bin", "/usr/bin", "/bin"]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "ws"
    (folder / "bin").mkdir(parents=True)
    return folder


def search_path(base: str, workspace: Path) -> list[str]:
    return confined_environment({"PATH": base}, workspace)["PATH"].split(":")


def test_nothing_gets_in_but_what_is_named(workspace: Path) -> None:
    base = {
        "PATH": "/bin", "HOME": "/h", "USER": "u", "TMPDIR": "/t", "LANG": "de", "LC_ALL": "de",
        "TERM": "xterm", "BASH_ENV": "x", "LD_PRELOAD": "x", "GIT_DIR": "x", "PYTHONPATH": "x",
        "PAGER": "x", "IFS": "x", "BASH_FUNC_ls%%": "() { x; }", "LESSOPEN": "|x", "RIPGREP_CONFIG_PATH": "x",
    }  # fmt: skip
    assert confined_environment(base, workspace) == {
        "PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/h", "USER": "u", "TMPDIR": "/t",
        "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "TERM": "dumb",
    }  # fmt: skip
    assert "HOME" not in confined_environment({}, workspace)


def test_no_folder_of_the_workspace_or_open_to_all_is_searched(
    workspace: Path, tmp_path: Path
) -> None:
    good, opened, link, open_link = (tmp_path / n for n in ("good", "open", "link", "open-link"))
    good.mkdir(mode=0o755)
    opened.mkdir()
    opened.chmod(0o777)
    link.symlink_to(workspace / "bin")
    open_link.symlink_to(opened)
    (workspace / "out").symlink_to(good)
    refused = [
        workspace, workspace / "bin", workspace / "out", opened, link, open_link,
        tmp_path / "missing", "bin", ".", "", "../ws/bin", "~/bin",
    ]  # fmt: skip
    base = os.pathsep.join(map(str, [*refused, good, "/bin"]))
    assert search_path(base, workspace) == [*SYSTEM, str(good)]


def test_a_folder_beside_the_workspace_with_a_longer_name_is_not_in_it(
    workspace: Path, tmp_path: Path
) -> None:
    beside = tmp_path.resolve() / "ws-tools"
    beside.mkdir(mode=0o755)
    assert search_path(str(beside), workspace) == [*SYSTEM, str(beside)]


def test_system_folders_come_first_whatever_the_order(workspace: Path, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir(mode=0o755)
    assert search_path(f"{own}:/bin:/usr/bin", workspace) == [*SYSTEM, str(own)]


@pytest.mark.parametrize(
    "name", [".pyenv/shims", ".asdf/shims", ".asdf/bin", ".volta/bin", "mise/shims", "Shims"]
)
def test_no_folder_of_programs_that_ask_the_workspace_which_to_start_is_searched(
    name: str, workspace: Path, tmp_path: Path
) -> None:
    shims, link = tmp_path / name, tmp_path / "link"
    shims.mkdir(parents=True)
    link.symlink_to(shims)
    assert search_path(f"{shims}:{link}", workspace) == SYSTEM


def test_no_folder_that_all_may_replace_is_searched(workspace: Path, tmp_path: Path) -> None:
    above, sticky = tmp_path / "open", tmp_path / "sticky"
    for folder, mode in ((above, 0o777), (sticky, 0o1777)):
        (folder / "bin").mkdir(parents=True)
        folder.chmod(mode)
    base = f"{above}/bin:{sticky}:{sticky}/bin"
    assert search_path(base, workspace) == [*SYSTEM, f"{sticky}/bin"]


def test_no_home_is_told_that_the_workspace_could_fill(workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "home").symlink_to(workspace)
    for home in (workspace, workspace / "bin", tmp_path / "home"):
        assert confined_environment({"HOME": str(home)}, workspace)["HOME"] == "/nonexistent"
    outside = confined_environment({"HOME": str(tmp_path)}, workspace)
    assert outside["HOME"] == str(tmp_path)
