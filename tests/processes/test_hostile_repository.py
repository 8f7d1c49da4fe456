"""A repository that runs a program wherever its settings can, asked by git as the gate allows it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

import anyio
import pytest

from shard_jupyter.contracts.process_runner import ProcessOutcome, ProcessSpec
from shard_jupyter.core.children.git_call import harden_git
from shard_jupyter.core.permissions.shell.tables.find_table import read_argv
from shard_jupyter.core.processes import SystemProcessRunner
from shard_jupyter.errors import ToolFailed
from tests.conftest import DATA
from tests.hostile_repository import HostileRepository, make_hostile_repository

CORPORA = ("bad_shell_commands.jsonl", "own_shell_commands.jsonl")
RUNNER = SystemProcessRunner()

# Of the same kind as the corpora, over the files that the repository has something set for.
ITS_OWN = """
git status -uall --ignored
git diff a.txt
git diff --numstat -M -C
git diff --check
git log -p --all -m
git log -c -p
git log --cc -p
git log -m -p --first-parent
git log -G both -p
git log -L 1,2:a.txt
git log -g -p
git log --notes -p -- f.cached
git show -m HEAD~1
git show HEAD~2 --stat
git show HEAD:a.txt
git show stash@{0}
git blame a.txt
git blame g.up
git blame HEAD -- a.txt
git grep both
git grep TODO HEAD
git grep --cached TODO
git ls-files --eol -m -d -o
git stash list -p
git stash show -p
git diff-tree -p -r HEAD~1 HEAD
git diff HEAD~2 HEAD -- a.txt
git cat-file -p 1234567890123456789012345678901234567890
git show 1234567890123456789012345678901234567890
git rev-list --all --objects
git for-each-ref --format=%(contents)
git branch -vv --all
git shortlog -sn HEAD
git check-ignore -v a.txt
"""


def _safe_git_lines() -> Iterator[str]:
    for name in CORPORA:
        for text in (DATA / name).read_bytes().split(b"\n"):
            row = json.loads(text) if text else {"cmd": ""}
            if row["cmd"].startswith("git ") and row["safe_readonly"]:
                yield row["cmd"]
    yield from filter(None, ITS_OWN.split("\n"))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> HostileRepository:
    return make_hostile_repository(tmp_path_factory.mktemp("hostile"))


@pytest.fixture
def env(hostile: HostileRepository) -> dict[str, str]:
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(hostile.path.parent)}


async def _bash(command: str, cwd: Path, env: Mapping[str, str]) -> ProcessOutcome:
    spec = ProcessSpec(("bash", "-c", command), cwd, env, timeout_seconds=20)
    outcome = await RUNNER.run(spec)
    assert not outcome.timed_out, command
    return outcome


@pytest.mark.proves("T67", "T77")
async def test_no_allowed_git_command_runs_anything_of_a_hostile_repository(
    hostile: HostileRepository, env: dict[str, str]
) -> None:
    ran = {}
    with anyio.fail_after(180):
        hardened = await harden_git(RUNNER, hostile.path, env)
        for line in _safe_git_lines():
            reading = read_argv(shlex.split(line))
            assert reading.is_git, (line, reading)
            hostile.disturb()
            index = (hostile.path / ".git" / "index").read_bytes()
            words = reading.run_as or shlex.split(line)
            outcome = await _bash(shlex.join(words), hostile.path, hardened)
            if marks := hostile.take_marks():
                ran[line] = marks
            assert outcome.exit_code in (0, 1, 128), (line, outcome)
            assert (hostile.path / ".git" / "index").read_bytes() == index, line
    assert ran == {}
    assert not (hostile.marks / "user").exists()


@pytest.mark.proves("T77")
async def test_the_same_repository_runs_programs_of_every_kind_through_plain_git(
    hostile: HostileRepository, env: dict[str, str]
) -> None:
    ran: set[str] = set()
    with anyio.fail_after(180):
        for line in ("git status", "git diff", "git log -p -m", "git show", "git blame a.txt",
                     "git diff --submodule=diff", "git log -p -- f.cached", "git x", "git show v1",
                     "git cat-file -p 1234567890123456789012345678901234567890"):  # fmt: skip
            hostile.disturb()
            await _bash(line, hostile.path, env)
            ran |= hostile.take_marks()
    assert ran >= {
        "fsmonitor", "clean", "process", "included", "included-if", "worktree", "textconv",
        "textconv-cached", "command", "external", "smudge", "merge", "alias", "ext",
        "hook-post-index-change", "--keyid-format=long",
    }  # fmt: skip


@pytest.mark.proves("T77")
async def test_allowed_commands_still_tell_what_is_asked(
    hostile: HostileRepository, env: dict[str, str]
) -> None:
    with anyio.fail_after(60):
        hardened = await harden_git(RUNNER, hostile.path, env)
        for line, told in (
            ("git diff HEAD~2 HEAD -- a.txt", ""),
            ("git log --oneline", "second"),
            ("git show HEAD:a.txt", "both"),
            ("git grep -n two", "a.txt:2:two"),
            ("git grep both HEAD", "HEAD:a.txt:both"),
            ("git blame a.txt", "both"),
            ("git log -p", "+main"),
        ):
            outcome = await _bash(
                shlex.join(read_argv(shlex.split(line)).run_as), hostile.path, hardened
            )
            assert outcome.exit_code == 0, (line, outcome)
            assert told in outcome.output.head.decode()
    assert hostile.take_marks() == set()


@pytest.mark.proves("T77")
async def test_filters_have_to_be_switched_off_by_their_names(
    hostile: HostileRepository, env: dict[str, str]
) -> None:
    with anyio.fail_after(60):
        hardened = await harden_git(RUNNER, hostile.path, env)
        keys = [value for name, value in hardened.items() if name.startswith("GIT_CONFIG_KEY_")]
        by_name = [key for key in keys if key.startswith(("filter.", "merge."))]
        weaker = hardened | {"GIT_CONFIG_COUNT": str(len(keys) - len(by_name))}
        hostile.disturb()
        await _bash(shlex.join(read_argv(["git", "diff"]).run_as), hostile.path, weaker)
    assert {"clean", "process", "worktree"} <= hostile.take_marks()


@pytest.mark.proves("T45", "T77")
async def test_missing_object_is_not_fetched_by_a_git_that_knows_no_switch_for_that(
    hostile: HostileRepository, env: dict[str, str]
) -> None:
    missing = ["git", "cat-file", "-p", "1234567890123456789012345678901234567890"]
    with anyio.fail_after(60):
        hardened = await harden_git(RUNNER, hostile.path, env)
        del hardened["GIT_NO_LAZY_FETCH"]
        await _bash(shlex.join(read_argv(missing).run_as), hostile.path, hardened)
    assert hostile.take_marks() == set()


@pytest.mark.proves("T77")
async def test_submodule_of_a_hostile_repository_runs_nothing_either(
    hostile: HostileRepository, env: dict[str, str]
) -> None:
    folder = hostile.path / "sub"
    with anyio.fail_after(60):
        hardened = await harden_git(RUNNER, folder, env)
        for line in ("git status", "git diff", "git log -p"):
            outcome = await _bash(shlex.join(read_argv(shlex.split(line)).run_as), folder, hardened)
            assert outcome.exit_code == 0, outcome
    assert hostile.take_marks() == set()


@pytest.mark.proves("T77")
async def test_git_stays_with_the_repository_it_was_hardened_for(
    hostile: HostileRepository, env: dict[str, str]
) -> None:
    with anyio.fail_after(60):
        hardened = await harden_git(RUNNER, hostile.path, env)
        hostile.disturb()
        outcome = await _bash("cd sub && git --no-pager status", hostile.path, hardened)
    assert outcome.exit_code == 0
    assert hostile.take_marks() == set()


@pytest.mark.proves("T77")
async def test_work_tree_that_the_configuration_names_is_not_looked_at(
    tmp_path: Path, env: dict[str, str]
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("TODO secret\n", encoding="utf-8")
    top = tmp_path / "top"
    await _bash(f"git init -q {top} && git -C {top} config core.worktree ../../outside",
                tmp_path, env)  # fmt: skip
    with anyio.fail_after(60):
        hardened = await harden_git(RUNNER, top, env)
        told = b""
        for line in ("git status", "git grep TODO", "git ls-files -o"):
            words = read_argv(shlex.split(line)).run_as
            told += (await _bash(shlex.join(words), top, hardened)).output.head
    assert b"secret" not in told
    assert b"secret" in (await _bash("git status", top, env)).output.head


@pytest.mark.proves("T77")
async def test_grep_does_not_go_through_a_folder_that_became_a_link(
    tmp_path: Path, env: dict[str, str]
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "x").write_text("TODO secret\n", encoding="utf-8")
    top = tmp_path / "top"
    (top / "d").mkdir(parents=True)
    (top / "d" / "x").write_text("TODO\n", encoding="utf-8")
    await _bash("git init -q && git add . && rm -r d && ln -s ../outside d", top, env)
    with anyio.fail_after(60):
        hardened = await harden_git(RUNNER, top, env)
        words = read_argv(["git", "grep", "TODO"]).run_as
        told = (await _bash(shlex.join(words), top, hardened)).output.head
    assert b"secret" not in told
    assert b"secret" in (await _bash("git grep TODO", top, env)).output.head


@pytest.mark.proves("T77")
async def test_lines_of_other_files_are_not_told_in_errors(
    tmp_path: Path, env: dict[str, str]
) -> None:
    (tmp_path / "secret").write_text("hunter2\n", encoding="utf-8")
    top = tmp_path / "top"
    top.mkdir()
    await _bash(
        "git init -q && echo a > a && git add . && git -c user.name=a -c user.email=a@b commit -qm a"
        " && git config blame.ignoreRevsFile ../secret",
        top,
        env,
    )
    with anyio.fail_after(60), pytest.raises(ToolFailed, match="secret"):
        await harden_git(RUNNER, top, env)
    assert b"hunter2" in (await _bash("git blame a", top, env)).output.head


@pytest.mark.proves("T77")
@pytest.mark.parametrize("name", ["a.b c", "UPPER.lower", 'q"uote', "back\\\\slash", "é\udcff"])
async def test_filter_of_any_name_is_switched_off(
    name: str, tmp_path: Path, env: dict[str, str]
) -> None:
    await _bash("git init -q", tmp_path, env)
    quoted = name.replace('"', '\\"').encode("utf-8", "surrogateescape")
    with (tmp_path / ".git" / "config").open("ab") as config:
        config.write(b'[filter "' + quoted + b'"]\n\tclean = evil\n')
    with anyio.fail_after(60):
        hardened = await harden_git(RUNNER, tmp_path, env)
        last = await _bash("git config --list --name-only -z", tmp_path, hardened)
    given = name.replace("\\\\", "\\").encode("utf-8", "surrogateescape")
    assert last.output.head.count(b"filter." + given + b".clean\0") == 2


async def test_without_a_repository_none_is_found_later(tmp_path: Path) -> None:
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    with anyio.fail_after(60):
        hardened = await harden_git(RUNNER, tmp_path, env)
        outcome = await _bash("git init -q sub; cd sub; git status", tmp_path, hardened)
    assert outcome.exit_code == 128


@pytest.mark.proves("T77")
async def test_folder_that_looks_like_the_inside_of_a_repository_is_none(
    tmp_path: Path, env: dict[str, str]
) -> None:
    await _bash("git init -q --bare", tmp_path, env)
    assert (await _bash("git rev-parse --git-dir", tmp_path, env)).exit_code == 0
    with anyio.fail_after(60):
        hardened = await harden_git(RUNNER, tmp_path, env)
        outcome = await _bash("git rev-parse --git-dir", tmp_path, hardened)
    assert outcome.exit_code == 128


async def test_configuration_that_cannot_be_read_is_an_error(
    tmp_path: Path, env: dict[str, str]
) -> None:
    await _bash("git init -q && echo '[' > .git/config", tmp_path, env)
    with anyio.fail_after(60), pytest.raises(ToolFailed, match="cannot be read"):
        await harden_git(RUNNER, tmp_path, env)
