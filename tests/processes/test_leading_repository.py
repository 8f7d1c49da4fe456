"""A repository that names places outside of it: what it would tell of them is not told."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from shard_jupyter.contracts.process_runner import ProcessOutcome, ProcessSpec
from shard_jupyter.core.children.git_call import harden_git
from shard_jupyter.core.permissions.shell.judge_command import judge_command
from shard_jupyter.core.permissions.shell.shell_verdict import ShellVerdict
from shard_jupyter.core.processes import SystemProcessRunner
from shard_jupyter.errors import ToolFailed
from tests.hostile_repository import put_into_index

RUNNER = SystemProcessRunner()


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(tmp_path)}


async def _bash(command: str, cwd: Path, env: Mapping[str, str]) -> ProcessOutcome:
    outcome = await RUNNER.run(ProcessSpec(("bash", "-c", command), cwd, env, timeout_seconds=20))
    assert not outcome.timed_out, command
    return outcome


async def _judge(command: str, top: Path) -> ShellVerdict:
    return await anyio.to_thread.run_sync(judge_command, command, top)


async def _make_repository(top: Path, env: dict[str, str]) -> None:
    top.mkdir(parents=True)
    await _bash(
        "git init -q && echo KEY > a && git add a && git -c user.name=A -c user.email=a@b commit -qm a",
        top,
        env,
    )


@pytest.mark.proves("T77", "T45")
@pytest.mark.parametrize(
    "name", ["../out/x", "sub/../../out/x", "{}/out/x", ".git/config", "sub/.GIT/config"]
)
async def test_index_that_names_files_outside_is_not_followed(
    name: str, tmp_path: Path, env: dict[str, str]
) -> None:
    top = tmp_path / "top"
    await _make_repository(top, env)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "x").write_text("hunter2\n", encoding="utf-8")
    (top / ".git" / "x").write_text("hunter2\n", encoding="utf-8")
    (top / "sub").mkdir()
    await anyio.to_thread.run_sync(put_into_index, top, name.format(tmp_path))
    with anyio.fail_after(60), pytest.raises(ToolFailed, match="index"):
        await harden_git(RUNNER, top, env)
    if "out" in name:
        assert b"hunter2" in (await _bash("git --no-pager diff", top, env)).output.head


async def _told(command: str, top: Path, env: dict[str, str]) -> bytes:
    verdict = await _judge(command, top)
    assert verdict.is_safe, verdict.why
    return (await _bash(verdict.confined, top, await harden_git(RUNNER, top, env))).output.head


@pytest.mark.proves("T77")
@pytest.mark.parametrize(
    ("setting", "command"),
    [
        ("mailmap.file", "git shortlog HEAD"),
        ("mailmap.file", "git log --use-mailmap --format=%aN"),
        ("core.excludesFile", "git check-ignore -v hunter2"),
        ("diff.orderFile", "git diff HEAD"),
    ],
)
async def test_no_file_that_a_setting_names_is_read(
    setting: str, command: str, tmp_path: Path, env: dict[str, str]
) -> None:
    top, secret = tmp_path / "top", tmp_path / "secret"
    secret.write_text("hunter2 <x@y> <a@b>\nhunter2\n", encoding="utf-8")
    await _make_repository(top, env)
    (top / "hunter2").touch()
    await _bash(f"git config {setting} {secret}", top, env)
    with anyio.fail_after(60):
        assert b"hunter2" not in await _told(command, top, env)
        secret.unlink()
        os.mkfifo(secret)  # to open it would wait for ever
        await _told(command, top, env)


@pytest.mark.proves("T77")
async def test_settings_of_another_repository_are_not_told(
    tmp_path: Path, env: dict[str, str]
) -> None:
    top = tmp_path / "top"
    await _make_repository(top, env)
    (tmp_path / "other").write_text(
        '[remote "x"]\n\turl = https://u:hunter2@host/x\n', encoding="utf-8"
    )
    await _bash(f"git config include.path {tmp_path}/other", top, env)
    with anyio.fail_after(60), pytest.raises(ToolFailed, match="other"):
        await harden_git(RUNNER, top, env)
    assert b"hunter2" in (await _bash("git remote -v", top, env)).output.head


@pytest.mark.proves("T77")
async def test_passwords_in_addresses_of_remotes_are_not_told(
    tmp_path: Path, env: dict[str, str]
) -> None:
    top = tmp_path / "top"
    await _make_repository(top, env)
    await _bash(
        "git remote add a https://u:hunter2@host/a; git remote add b https://hunter2@host/b;"
        "git remote set-url --push b https://hunter2@host/c; git remote add c ssh://git@host/c",
        top,
        env,
    )
    with anyio.fail_after(60):
        told = await _told("git remote -v; git remote get-url a", top, env)
    assert b"hunter2" not in told
    assert told.count(b"https://host/a") == 3
    assert b"ssh://git@host/c" in told


@pytest.mark.proves("T77")
async def test_objects_of_another_repository_are_not_shown(
    tmp_path: Path, env: dict[str, str]
) -> None:
    top, other = tmp_path / "top", tmp_path / "other"
    await _make_repository(top, env)
    await _make_repository(other, env)
    (top / ".git/objects/info/alternates").write_text(
        f"# x\n{other}/.git/objects\n", encoding="utf-8"
    )
    verdict = await _judge("git show HEAD", top)
    assert not verdict.is_safe
    assert "alternates" in verdict.why


@pytest.mark.proves("T77", "A06")
@pytest.mark.parametrize("link", ["link", "pointer", "inner"])
async def test_repository_that_is_elsewhere_is_asked_before_it_fails(
    link: str, tmp_path: Path, env: dict[str, str]
) -> None:
    top, other = tmp_path / "top", tmp_path / "other"
    await _make_repository(other, env)
    top.mkdir()
    if link == "link":
        (top / ".git").symlink_to(other / ".git")
    elif link == "pointer":
        (top / ".git").write_text(f"gitdir: {other}/.git\n", encoding="utf-8")
    else:
        await _bash("git init -q && rm .git/description && ln -s ../x .git/description", top, env)
    verdict = await _judge("git status", top)
    assert not verdict.is_safe
    assert "somewhere else" in verdict.why
    assert "command git" not in verdict.why
    assert (await _judge("cat x.gitignore", top)).is_safe


@pytest.mark.proves("T77")
async def test_search_of_git_leaves_secrets_out(tmp_path: Path, env: dict[str, str]) -> None:
    top = tmp_path / "top"
    await _make_repository(top, env)
    for name in (".env", "sub/.ENV", "sub/.ssh/x"):
        (top / name).parent.mkdir(exist_ok=True, parents=True)
        (top / name).write_text("KEY=1\n", encoding="utf-8")
    await _bash("git add .env; git -c user.name=A -c user.email=a@b commit -qm b", top, env)
    with anyio.fail_after(60):
        for command in ("git grep KEY", "git grep --cached KEY", "git grep KEY HEAD",
                        "git grep KEY -- .", "git grep -e KEY -- ':!x'", "git grep KEY sub a",
                        "cd sub && git grep KEY .. ."):  # fmt: skip
            told = await _told(command, top, env)
            assert b"KEY=" not in told, command
            assert b"KEY" in told, command


@pytest.mark.proves("T77")
async def test_without_a_repository_git_compares_no_files(
    tmp_path: Path, env: dict[str, str]
) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / ".env").write_text(f"KEY={name}\n", encoding="utf-8")
    for command in ("git diff a b", "git diff -- a b", "cd a && git diff . ../b"):
        assert not (await _judge(command, tmp_path)).is_safe, command
    hardened = await harden_git(RUNNER, tmp_path, env)
    for command in ("git diff", "git diff --stat HEAD~1", "git diff a", "cd a && git diff ."):
        verdict = await _judge(command, tmp_path)
        assert verdict.is_safe, command
        assert b"KEY" not in (await _bash(verdict.confined, tmp_path, hardened)).output.head
    assert b"KEY" in (await _bash("git diff --no-ext-diff a b", tmp_path, hardened)).output.head


@pytest.mark.proves("T77")
@pytest.mark.parametrize("name", [".git", ".git/commondir", ".git/objects/info/alternates"])
async def test_pipe_in_a_repository_hangs_no_decision(
    name: str, tmp_path: Path, env: dict[str, str]
) -> None:
    if name != ".git":
        await _bash("git init -q", tmp_path, env)
    os.mkfifo(tmp_path / name)
    with anyio.fail_after(10):
        assert not (await _judge("git status", tmp_path)).is_safe
