"""What the commands of an agent may reach, on real folders."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from shard_jupyter.contracts.process_runner import SandboxPolicy
from shard_jupyter.core.sandbox.sandbox_policy import make_policy

pytestmark = pytest.mark.proves("E09.reads")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    for name in (".ssh", "project", ".local/bin", ".local/lib", ".pyenv/shims", ".config/git"):
        (home / name).mkdir(parents=True)
    (home / ".gitconfig").write_text("", encoding="utf-8")
    return home


def policy_of(cwd: Path, home: Path, **environ: str) -> SandboxPolicy:
    given = {"HOME": str(home), "PATH": "/usr/bin:/bin", "SHARD_HOME": str(home / ".shard")}
    scratch = home / ".shard/sessions/s/scratch"
    return make_policy(
        cwd, {**given, **environ}, scratch=scratch, temporary=scratch / "tmp",
        state=scratch.parent,
    )  # fmt: skip


def may_read(policy: SandboxPolicy, path: Path) -> bool:
    """The longest entry that holds it counts."""
    rules = [(len(p.parts), True) for p in (*policy.readable, *policy.writable)
             if path.is_relative_to(p)]  # fmt: skip
    rules += [(len(p.parts), False) for p in policy.hidden if path.is_relative_to(p)]
    return max(rules, key=lambda rule: (rule[0], not rule[1]), default=(0, False))[1]


def test_a_home_is_not_read_but_for_tools_and_the_name_for_commits(home: Path) -> None:
    policy = policy_of(home / "project", home, PATH=f"{home}/.local/bin:/usr/bin")
    readable = (".gitconfig", ".config/git/ignore", ".local/bin/tool", ".local/lib/python3/x",
                ".pyenv/versions/3/bin/python", "project/a.py",
                ".shard/sessions/s/scratch/output-1.txt")  # fmt: skip
    for name in readable:
        assert may_read(policy, home / name), name
    hidden = ("", "letter.txt", ".ssh/id_ed25519", ".bash_history", ".aws/credentials",
              ".config/git/credentials", ".local/share/keyrings/login", ".cargo/credentials.toml",
              ".shard/sessions/s/session.jsonl", ".shard/rules/granted.json",
              ".shard/sessions/other/scratch/x", ".config/shard/config.json",
              ".local/share/jupyter/runtime/kernel-1.json")  # fmt: skip
    for name in hidden:
        assert not may_read(policy, home / name), name


def test_a_workspace_that_is_the_home_still_hides_keys(home: Path) -> None:
    policy = policy_of(home, home)
    assert may_read(policy, home / "letter.txt")
    assert not may_read(policy, home / ".ssh/id_ed25519")
    assert not may_read(policy, home / ".shard/sessions/s/session.jsonl")


@pytest.mark.parametrize(
    "variable", ["JUPYTER_RUNTIME_DIR", "GOOGLE_APPLICATION_CREDENTIALS", "KUBECONFIG", "GNUPGHOME"]
)
def test_places_that_variables_name_are_hidden(home: Path, variable: str) -> None:
    place = home / "project/place"
    assert not may_read(policy_of(home / "project", home, **{variable: str(place)}), place / "x")


def test_keys_behind_a_link_are_hidden_where_they_lie(home: Path) -> None:
    real = home / "project/real-keys"
    real.mkdir()
    (home / ".ssh").rmdir()
    (home / ".ssh").symlink_to(real)
    assert not may_read(policy_of(home / "project", home), real / "id_rsa")


@pytest.mark.parametrize("entry", ["{home}/bin", "{home}", "/", "relative", "{home}/project/bin"])
def test_no_entry_of_a_path_opens_the_home(home: Path, entry: str) -> None:
    (home / "bin").mkdir()
    policy = policy_of(home / "project", home, PATH=entry.format(home=home))
    assert not may_read(policy, home / "letter.txt")
    assert Path("/") not in policy.readable


def test_the_interpreter_behind_a_shim_is_read(home: Path, tmp_path: Path) -> None:
    real = tmp_path / "elsewhere/python-3.12/bin/python3"
    real.parent.mkdir(parents=True)
    real.write_text("#!/bin/sh\n", encoding="utf-8")
    real.chmod(0o755)
    (home / ".local/bin/python3").symlink_to(real)
    policy = policy_of(home / "project", home, PATH=f"{home}/.local/bin")
    assert may_read(policy, tmp_path / "elsewhere/python-3.12/lib/x.py")
    assert not may_read(policy, tmp_path / "elsewhere/other")


def test_a_project_installed_in_place_is_read(home: Path, tmp_path: Path) -> None:
    site = tmp_path / "env/lib/python3.12/site-packages"
    site.mkdir(parents=True)
    (tmp_path / "library").mkdir()
    (site / "library.pth").write_text(f"import x\n{tmp_path}/library\n{home}\n", encoding="utf-8")
    policy = policy_of(home / "project", home, VIRTUAL_ENV=str(tmp_path / "env"))
    assert may_read(policy, tmp_path / "library/a.py")
    assert not may_read(policy, home / "letter.txt")


def git(*words: str, cwd: Path) -> None:
    name = ("-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run(["git", *name, *words], cwd=cwd, check=True, capture_output=True)


def test_a_pipe_in_the_place_of_a_pointer_hangs_nothing(home: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    os.mkfifo(tmp_path / "other" / "gitdir")
    (tmp_path / "ws").mkdir(exist_ok=True)
    (tmp_path / "ws/.git").write_text("gitdir: ../other\n", encoding="utf-8")
    assert tmp_path / "other" not in policy_of(tmp_path / "ws", home).readable


def test_a_worktree_reads_its_repository(home: Path, tmp_path: Path) -> None:
    repository, worktree = tmp_path / "repository", tmp_path / "worktree"
    git("init", "-q", str(repository), cwd=tmp_path)
    git("commit", "-q", "--allow-empty", "-m", "x", cwd=repository)
    git("worktree", "add", "-q", str(worktree), cwd=repository)
    policy = policy_of(worktree, home)
    assert may_read(policy, repository / ".git/objects/x")
    assert not may_read(policy, repository / "file.txt")
    (repository / "sub").mkdir()
    assert may_read(policy_of(repository / "sub", home), repository / "file.txt")


@pytest.mark.parametrize("target", ["victim", "../home/letters"])
def test_a_planted_git_file_opens_nothing(home: Path, tmp_path: Path, target: str) -> None:
    victim = (tmp_path / "ws" / target).resolve()
    for folder in (tmp_path / "ws", victim):
        folder.mkdir(parents=True, exist_ok=True)
    (tmp_path / "ws/.git").write_text(f"gitdir: {target}\n", encoding="utf-8")
    outside = tmp_path / "home/letters"
    assert not may_read(policy_of(tmp_path / "ws", home), outside / "a")


def test_a_home_under_git_is_not_opened_by_that(home: Path) -> None:
    (home / ".git").mkdir()
    assert not may_read(policy_of(home / "project", home), home / "letter.txt")


@pytest.mark.proves("E09.writes")
def test_only_the_workspace_and_the_own_folder_are_written(home: Path) -> None:
    policy = policy_of(home / "project", home)
    own = home / ".shard/sessions/s/scratch/tmp"
    assert policy.writable == (home / "project", own)
    assert policy.temporary == own
    assert not policy.network


@pytest.mark.skipif(os.geteuid() != 0, reason="others cannot read them anyway")
def test_root_reads_no_passwords_of_the_system(home: Path) -> None:
    assert not may_read(policy_of(home / "project", home), Path("/etc/shadow"))
