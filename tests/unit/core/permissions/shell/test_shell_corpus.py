"""Every line of the corpora: what must be asked is asked, and little else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from shard_jupyter.core.permissions.shell.judge_command import judge_command
from tests.conftest import DATA
from tests.fakes.shell_workspace import make_workspace

pytestmark = pytest.mark.proves("A06", "T44", "T47", "T64")
MOST_NEEDLESS = 0.02
IN_ODD_WORKSPACE = {"own-341"}


def read_corpora() -> list[Mapping[str, object]]:
    names = ("bad_shell_commands.jsonl", "own_shell_commands.jsonl")
    lines = (line for name in names for line in (DATA / name).read_bytes().split(b"\n"))
    return [json.loads(line) for line in lines if line]


CORPORA = read_corpora()
SAFE = [entry for entry in CORPORA if entry["safe_readonly"]]
UNSAFE = [entry for entry in CORPORA if not entry["safe_readonly"]]


def name(entry: Mapping[str, object]) -> str:
    return str(entry["id"])


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_workspace(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def odd_workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Has a name for a pattern that is a plain word elsewhere."""
    made = make_workspace(tmp_path_factory.mktemp("odd"))
    (made / "--include=odd.py").touch()
    return made


@pytest.mark.parametrize("entry", UNSAFE, ids=name)
def test_unsafe_line_is_asked(
    entry: Mapping[str, object], workspace: Path, odd_workspace: Path
) -> None:
    place = odd_workspace if name(entry) in IN_ODD_WORKSPACE else workspace
    verdict = judge_command(str(entry["cmd"]), place)
    assert not verdict.is_safe, entry["why"]
    assert verdict.why
    assert verdict.confined == ""


# `cat *.py` with no such file is one plain word; of our own lines some need what they name.
@pytest.mark.parametrize("entry", [e for e in UNSAFE if name(e).startswith("sh")], ids=name)
def test_unsafe_line_is_asked_where_there_are_no_files_too(
    entry: Mapping[str, object], tmp_path: Path
) -> None:
    assert not judge_command(str(entry["cmd"]), tmp_path).is_safe, entry["why"]


@pytest.mark.parametrize("entry", SAFE, ids=name)
def test_safe_line_runs_in_a_form_that_is_judged_the_same(
    entry: Mapping[str, object], workspace: Path
) -> None:
    verdict = judge_command(str(entry["cmd"]), workspace)
    assert verdict.is_safe, verdict.why
    assert verdict.canonical
    again = judge_command(verdict.canonical, workspace)
    assert (again.is_safe, again.confined) == (True, verdict.confined)
    uses_git = any(reading.argv.is_git for reading in verdict.commands)
    assert uses_git or "git_hardened_env" not in str(entry.get("requires"))


def test_few_safe_lines_are_asked(workspace: Path) -> None:
    asked = [e["id"] for e in SAFE if not judge_command(str(e["cmd"]), workspace).is_safe]
    assert len(asked) <= MOST_NEEDLESS * len(SAFE), asked


def test_ids_of_the_corpora_are_unique() -> None:
    ids = [entry["id"] for entry in CORPORA]
    assert len(set(ids)) == len(ids)
