"""A real git repository in which every setting that can run a program runs one: a marker."""

from __future__ import annotations

import hashlib
import itertools
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

_CONFIG = """\
[core]
    fsmonitor = {bad} fsmonitor
    pager = {bad} pager
    editor = {bad} editor
    sshCommand = {bad} ssh
    askPass = {bad} askpass
    gitProxy = {bad} proxy
    alternateRefsCommand = {bad} alternate
    hooksPath = {hooks}
    untrackedCache = true
[sequence]
    editor = {bad} sequence
[diff]
    external = {bad} external
    submodule = diff
    mnemonicPrefix = true
[status]
    submoduleSummary = true
[log]
    showSignature = true
    diffMerges = remerge
[gpg]
    program = {program}
[gpg "ssh"]
    program = {program}
    defaultKeyCommand = {bad} key
[credential]
    helper = !{bad} credential
[interactive]
    diffFilter = {bad} interactive
[alias]
    x = !{bad} alias
    status = !{bad} alias-status
    log = !{bad} alias-log
[pager]
    log = {bad} pager-log
    diff = {bad} pager-diff
    status = {bad} pager-status
    branch = {bad} pager-branch
[diff "evil"]
    textconv = {bad} textconv
    command = {bad} command
[diff "cached"]
    textconv = {bad} textconv-cached
    cachetextconv = true
[filter "evil"]
    clean = {bad} clean
    smudge = {bad} smudge
    required = true
[filter "proc"]
    process = {bad} process
[filter "UPPER.dots and-more"]
    clean = {bad} clean-dots
[merge "evil"]
    driver = {bad} merge
[merge]
    tool = evil
[mergetool "evil"]
    cmd = {bad} mergetool
[difftool "evil"]
    cmd = {bad} difftool
[diff]
    tool = evil
[browser "evil"]
    cmd = {bad} browser
[web]
    browser = evil
[man "evil"]
    cmd = {bad} man
[help]
    browser = evil
    autocorrect = immediate
[remote "origin"]
    url = ext::{bad} ext
    uploadpack = {bad} uploadpack
    receivepack = {bad} receivepack
    promisor = true
    partialCloneFilter = blob:none
[protocol]
    allow = always
[protocol "ext"]
    allow = always
[submodule]
    recurse = true
[sendemail]
    sendmailCmd = {bad} sendmail
[trailer "x"]
    cmd = {bad} trailer
    command = {bad} trailer-command
[include]
    path = included.cfg
[includeIf "gitdir:**"]
    path = included-if.cfg
[extensions]
    worktreeConfig = true
    partialClone = origin
[user]
    name = $(touch {marks}/user)
    email = `touch {marks}/email`
"""
_INCLUDED = '[filter "{name}"]\n    clean = {bad} {name}\n    smudge = {bad} {name}\n'
_ATTRIBUTES = """\
*.txt filter=evil diff=evil merge=evil
*.proc filter=proc
*.inc filter=included
*.incif filter=included-if
*.wt filter=worktree
*.cached diff=cached
"""
HOOKS = ("post-index-change", "reference-transaction", "post-checkout", "pre-commit", "post-merge",
         "pre-auto-gc", "post-rewrite", "fsmonitor-watchman", "query-watchman")  # fmt: skip


_TIMES = itertools.count(1)


@dataclass(frozen=True)
class HostileRepository:
    """`marks`: a folder in which each program that was run leaves its name."""

    path: Path
    marks: Path

    def take_marks(self) -> set[str]:
        found = {mark.name for mark in self.marks.iterdir()}
        for mark in self.marks.iterdir():
            mark.unlink()
        return found

    def disturb(self) -> None:
        """Same size, another time each: only by filtering the content can git tell."""
        now = next(_TIMES)
        for name in ("a.txt", "b.proc", "c.inc", "d.incif", "e.wt", "f.cached", "g.up"):
            os.utime(self.path / name, (now, now))


def _git(path: Path, *argv: str) -> str:
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(path.parent),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@example.test",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@example.test",
    }
    done = subprocess.run(
        ["git", "-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always", *argv],
        cwd=path,
        env=env,
        check=True,
        capture_output=True,
    )
    return done.stdout.decode().strip()


def _fill(path: Path) -> None:
    _git(path, "init", "-q")
    for name in ("a.txt", "b.proc", "c.inc", "d.incif", "e.wt", "f.cached", "g.up"):
        (path / name).write_text("TODO one\ntwo\n", encoding="utf-8")
    (path / ".gitattributes").write_text(_ATTRIBUTES, encoding="utf-8")
    _git(path, "add", ".")
    _git(path, "commit", "-qm", "first")
    _git(path, "checkout", "-qb", "side")
    (path / "a.txt").write_text("side\ntwo\n", encoding="utf-8")
    _git(path, "commit", "-qam", "side")
    _git(path, "checkout", "-q", "main")
    (path / "a.txt").write_text("main\ntwo\n", encoding="utf-8")
    _git(path, "commit", "-qam", "second")
    subprocess.run(["git", "merge", "-q", "side"], cwd=path, check=False, capture_output=True)
    (path / "a.txt").write_text("both\ntwo\n", encoding="utf-8")
    _git(path, "add", ".")
    _git(path, "commit", "-qm", "merged")
    (path / "a.txt").write_text("stash\ntwo\n", encoding="utf-8")
    _git(path, "stash")
    _git(path, "tag", "v1")


def _sign_head(path: Path) -> None:
    """A commit that claims to be signed, so that showing its signature runs the program."""
    body = _git(path, "cat-file", "commit", "HEAD").split("\n\n", 1)
    signed = (
        f"{body[0]}\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n iQ==\n"
        f" -----END PGP SIGNATURE-----\n\n{body[1]}\n"
    )
    (path / ".git" / "body").write_text(signed, encoding="utf-8")
    name = _git(path, "hash-object", "-t", "commit", "-w", ".git/body")
    _git(path, "update-ref", "HEAD", name)


def _make_hostile(path: Path, program: Path, hooks: Path, marks: Path) -> None:
    git_dir = Path(_git(path, "rev-parse", "--absolute-git-dir"))
    bad = str(program)
    text = _CONFIG.format(bad=bad, program=program, hooks=hooks, marks=marks)
    with (git_dir / "config").open("a", encoding="utf-8") as config:
        config.write(text)
    (git_dir / "included.cfg").write_text(
        _INCLUDED.format(name="included", bad=bad), encoding="utf-8"
    )
    (git_dir / "included-if.cfg").write_text(
        _INCLUDED.format(name="included-if", bad=bad), encoding="utf-8"
    )
    (git_dir / "config.worktree").write_text(
        _INCLUDED.format(name="worktree", bad=bad), encoding="utf-8"
    )
    (git_dir / "info").mkdir(exist_ok=True)
    (git_dir / "info" / "attributes").write_text("*.up filter=evil diff=evil\n", encoding="utf-8")


def make_hostile_repository(folder: Path) -> HostileRepository:
    marks, hooks, path, inner = (folder / name for name in ("marks", "hooks", "repo", "inner"))
    for made in (marks, hooks, path, inner):
        made.mkdir(parents=True)
    program = folder / "evil"
    # Input is taken and given back, so that filters and drivers work and git goes on.
    program.write_text(
        f'#!/bin/sh\n: > "{marks}/${{1:-bare}}"\n'
        "case $1 in ext | uploadpack | ssh | credential) exit 1 ;; esac\ncat\n",
        encoding="utf-8",
    )
    program.chmod(0o755)
    for hook in HOOKS:
        (hooks / hook).write_text(f'#!/bin/sh\n: > "{marks}/hook-{hook}"\n', encoding="utf-8")
        (hooks / hook).chmod(0o755)
    _fill(inner)
    _fill(path)
    _git(path, "submodule", "add", "-q", str(inner), "sub")
    _git(path, "commit", "-qm", "with a submodule")
    _sign_head(path)
    _make_hostile(path / "sub", program, hooks, marks)
    (path / "sub" / "a.txt").write_text("dirty\n", encoding="utf-8")
    _make_hostile(path, program, hooks, marks)
    repository = HostileRepository(path, marks)
    repository.take_marks()
    return repository


def put_into_index(top: Path, name: str) -> None:
    """Write an index as no git writes it: `name` stands in the place of one as long."""
    index = top / ".git" / "index"
    placeholder = "z" * len(name)
    (top / placeholder).write_text("KEY\n", encoding="utf-8")
    subprocess.run(["git", "add", placeholder], cwd=top, check=True)
    content = index.read_bytes()[:-20]
    assert content.count(placeholder.encode()) == 1
    content = content.replace(placeholder.encode(), name.encode())
    index.write_bytes(content + hashlib.sha1(content, usedforsecurity=False).digest())
    (top / placeholder).unlink()
