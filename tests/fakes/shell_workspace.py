"""A small repository in which shell commands are judged."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

FILES = {
    "README.md": "one\ntwo foo\n",
    "data.csv": "a,1\nb,2\n",
    "package.json": '{"name": "x"}\n',
    "src/a.py": "def a(): ...  # TODO\n",
    "src/b.py": "def b(): ...\n",
    "src/deep/c.py": "c = 1\n",
    "docs/my notes.txt": "notes\n",
    "list.txt": "a\n",
    "top.py": "t = 1\n",
    "run.log": "l\n",
    "z.bin": "b\n",
    ".hidden": "h\n",
}
SCRIPTS = ("evil", "src/evil", "x")
"""Each makes a file `ran`, so that running one is seen."""


def make_workspace(folder: Path, *, with_git: bool = True) -> Path:
    """Make it in `folder`; beside it lies what must not be reached."""
    workspace = folder / "work"
    for name, text in FILES.items():
        path = workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for name in SCRIPTS:
        (workspace / name).write_text("#!/bin/sh\n: > ran\n", encoding="utf-8")
        (workspace / name).chmod(0o755)
    outside = folder / "outside"
    outside.mkdir()
    (outside / "x").write_text("secret\n", encoding="utf-8")
    (workspace / "link").symlink_to(outside)
    (workspace / "inner").symlink_to("src/deep")
    (workspace / "docs" / "out.md").symlink_to(outside / "x")
    os.mkfifo(workspace / "pipe")
    if with_git:
        _commit(workspace)
    return workspace.resolve()


def _commit(workspace: Path) -> None:
    names = ["-c", "user.name=T", "-c", "user.email=t@example.invalid"]
    tracked = ["README.md", "data.csv", "package.json", "src/a.py", "src/b.py"]
    for argv in (
        ["init", "-q", "-b", "main"],
        ["add", *tracked],
        [*names, "commit", "-q", "-m", "one"],
        [*names, "commit", "-q", "--allow-empty", "-m", "two"],
    ):
        subprocess.run(["git", *argv], cwd=workspace, check=True, capture_output=True)
