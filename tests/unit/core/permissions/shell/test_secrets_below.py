"""What reads folders reads no file in them that may hold keys, unless a person is asked."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from shard_jupyter.core.permissions.shell.judge_command import judge_command

pytestmark = pytest.mark.proves("A06", "T47")


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    made = tmp_path.resolve() / "work"
    for name, text in {
        "a.txt": "KEY\n",
        ".env": "KEY=1\n",
        "sub/.env": "KEY=2\n",
        "sub/b.txt": "KEY\n",
        "other/.env": "KEY=3\n",
    }.items():
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).write_text(text, encoding="utf-8")
    return made


@pytest.mark.parametrize(
    "command",
    [
        "grep -r KEY",
        "grep -r KEY --exclude-dir=.env .",
        "grep -r KEY --exclude=sub --exclude=other --exclude-dir=.env .",
        "grep -r KEY --exclude=.env --include=.env .",
        "grep -r KEY --exclude=.env --include='*' .",
        "grep -r KEY --include='*.txt' --exclude='.e*' --include='.*' .",
        "grep -r KEY --exclude='[^a]env' .",
        "diff sub other",
        "diff -N sub other",
        "diff -r sub other",
        "diff -r -x sub sub other",
        "rg --hidden KEY",
        "rg -. KEY",
        "rg -n. KEY",
        "rg -uuu KEY",
        "rg -nu KEY",
        "rg -g .env KEY",
        "rg -g '**/.env' KEY",
        "rg --iglob '*' KEY",
    ],
)
def test_reading_a_secret_below_a_folder_is_asked(command: str, workspace: Path) -> None:
    assert ".env" in judge_command(command, workspace).why


@pytest.mark.parametrize(
    "command",
    [
        "grep -r KEY --exclude=.env .",
        "grep -r KEY --include='*.txt' --exclude=.env .",
        "grep -r KEY --exclude-dir=sub --exclude-dir=other --exclude='.e*' .",
        "diff -r --exclude=.env sub other",
        "diff a.txt sub/b.txt",
    ],
)
def test_search_that_leaves_secrets_out_needs_no_person(command: str, workspace: Path) -> None:
    verdict = judge_command(command, workspace)
    assert verdict.is_safe, verdict.why
    done = subprocess.run(
        ["bash", "-c", verdict.confined], cwd=workspace, capture_output=True, check=False
    )
    assert b"KEY=" not in done.stdout
    assert not done.stderr


@pytest.mark.skipif(shutil.which("rg") is None, reason="there is no rg here")
@pytest.mark.parametrize("file", [".ignore", ".rgignore", ".gitignore"])
@pytest.mark.parametrize("options", ["", "-g '*'", "-g '*env'", "--type-add 'x:.env' -tx"])
def test_no_file_of_the_workspace_lets_hidden_files_into_a_search(
    options: str, file: str, workspace: Path
) -> None:
    (workspace / file).write_text("!.env\n", encoding="utf-8")
    verdict = judge_command(f"rg {options} KEY", workspace)
    assert verdict.is_safe, verdict.why
    done = subprocess.run(
        ["bash", "-c", verdict.confined], cwd=workspace, capture_output=True, check=False
    )
    assert b"KEY=" not in done.stdout


def test_hidden_files_are_left_out_whatever_a_file_of_the_workspace_says(workspace: Path) -> None:
    for options in ("", "-g '*' ", "--type-add x:.env -tx "):
        assert judge_command(f"rg {options}KEY", workspace).confined.startswith("rg '--iglob=!.*' ")
