from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from shard_jupyter.core.permissions.shell.globs import MAX_NAMES, expand_glob
from shard_jupyter.core.permissions.shell.look_budget import LookBudget
from shard_jupyter.core.permissions.shell.parse_command import parse_command
from shard_jupyter.core.permissions.shell.parsed_command import NotUnderstood, simple_commands
from shard_jupyter.core.permissions.shell.parsing.read_word import NotPlain

pytestmark = pytest.mark.proves("T44", "A06")
NAMES = (
    "a.py", "b.py", "B.py", "-x", "x y", "[q]", "a*b", ".hid", "d/a.py", "d/e/f", "e/a.py",
    "é.txt", "]", "!", "^", "a\\b", "d/.h",
)  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    for name in NAMES:
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text("", encoding="utf-8")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("", encoding="utf-8")
    (work / "link").symlink_to("../outside")
    (work / "dangling").symlink_to("nosuch")
    return work.resolve()


def expand(folder: Path, text: str) -> list[str]:
    parsed = parse_command(f"echo {text}")
    assert not isinstance(parsed, NotUnderstood), parsed
    _, *words = next(simple_commands(parsed)).words
    found: list[str] = []
    for word in words:
        names = expand_glob(word, folder, folder, LookBudget()) if word.is_glob else ()
        found += names or (word.text,)
    return found


PATTERNS = (
    "*", "*.py", "?.py", "[ab].py", "[a-b].py", "[!a].py", "[^a].py", "[A-Z].py", "d/*", "*/a.py",
    "*/*", "*/e/*", "*/", "d*/", "nosuch*", "'a'*", "a'*'b", "a'*'*", "\\[*", "x*", "'x '*", "**",
    "*/**", "[]]", "[]a]*", "[!]a]*", "[a-]*", "[!!]*", "?", "??", "a[", "[", "a]*", "d/[ae]*",
    "./*", "./d/../*.py", "d/e/*", "nosuch/*", "a.py/*", "*x", "*[!y]", "dang*", "[?]", "[*]",
    "'[q]'*", "*\\*b", "-*", "dangling/*", "da*/",
)  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_stands_for_the_names_that_bash_finds(folder: Path, pattern: str) -> None:
    script = f"printf '%s\\0' {pattern}"
    environ = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
    answer = subprocess.run(
        ["bash", "-c", script], cwd=folder, env=environ, check=True, capture_output=True
    )
    expected = answer.stdout.decode("utf-8").split("\0")[:-1]
    try:
        found = expand(folder, pattern)
    except NotPlain:
        # Only what lists a folder outside may be left out.
        assert any(name.startswith("link/") for name in expected), expected
        return
    assert found == expected


@pytest.mark.parametrize("pattern", ["link/*", "../*", "/etc/*", "d/../../*"])
def test_nothing_is_listed_outside_the_workspace(folder: Path, pattern: str) -> None:
    with pytest.raises(NotPlain, match="out of the workspace"):
        expand(folder, pattern)


@pytest.mark.parametrize("pattern", [".*", "d/.*", "[[:alpha:]]*", "[a'-'z]*", "[.-9]*", "d//*"])
def test_patterns_that_versions_of_bash_read_differently_are_not_taken(
    folder: Path, pattern: str
) -> None:
    with pytest.raises(NotPlain):
        expand(folder, pattern)


def test_too_many_names_are_not_taken(folder: Path) -> None:
    many = folder / "many"
    many.mkdir()
    for number in range(MAX_NAMES + 1):
        (many / f"f{number}").touch()
    with pytest.raises(NotPlain, match="more than"):
        expand(folder, "many/*")
    (many / "f0").unlink()
    assert len(expand(folder, "many/*")) == MAX_NAMES


@pytest.mark.parametrize("name", ["a\nb", "a\x1bb", "a\u202eb", b"a\xffb"])
def test_names_that_cannot_be_shown_are_not_taken(folder: Path, name: str | bytes) -> None:
    place = folder / "odd"
    place.mkdir()
    (place / os.fsdecode(name)).touch()
    with pytest.raises(NotPlain, match="cannot be seen"):
        expand(folder, "odd/*")
