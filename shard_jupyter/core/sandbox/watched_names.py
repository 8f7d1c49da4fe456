"""Names in a workspace that other programs run or obey, watched around a sandboxed command.

Some providers can make those read-only that exist, none can do it for those that do not
(CVE-2026-25725) without leaving files behind. So both are looked at before and after, by name.
Only the top of the workspace is: to look everywhere would cost more than the command.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from shard_jupyter.core.files.path_guard import shown
from shard_jupyter.core.files.protected_names import PROTECTED_FOLDERS, find_protected, fold_name

REPOSITORIES: Mapping[str, tuple[str, ...]] = {
    ".git": ("hooks", "config", "config.worktree", "info/attributes"),
    ".hg": ("hgrc",),
    ".svn": (),
}
"""What of a repository is obeyed; the rest changes with every commit."""
OBEYED_FOLDERS = PROTECTED_FOLDERS - {
    ".venv", ".tox", ".nox", "site-packages", "dist-packages", "node_modules", ".cargo", ".rustup",
    ".mvn", ".gradle", ".m2", ".bundle", ".gem", ".yarn", ".npm", ".nvm", ".pyenv", ".rbenv",
    ".asdf", ".julia", ".terraform", ".terraform.d", ".config", ".local", ".mozilla",
    ".thunderbird",
}  # fmt: skip
"""Those of agents, editors and services. Tools fill the others with thousands of files, and a
person who allows an installation has allowed that."""
MAX_ENTRIES = 3_000
"""A folder of that kind with more is looked at so far only."""

Mark = tuple[int, ...]
Snapshot = Mapping[str, Mark]


@dataclass(frozen=True)
class Changes:
    """Names relative to the workspace, in order."""

    created: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.created or self.changed or self.removed)

    def in_words(self, limit: int = 5) -> str:
        parts = (("created", self.created), ("changed", self.changed), ("removed", self.removed))
        return "; ".join(f"{verb} {_list(names, limit)}" for verb, names in parts if names)


def find_read_only(cwd: Path) -> tuple[Path, ...]:
    """Return what a command may only read, as far as it exists at the top of `cwd`.

    Not the files that people build with (a makefile, a notebook): those are only watched.
    """
    files = (path for path in _protected_files(cwd) if path.name.startswith("."))
    return (*_obeyed_folders(cwd), *files)


def _obeyed_folders(cwd: Path) -> tuple[Path, ...]:
    found = []
    for name in _names_in(cwd):
        folded = fold_name(name)
        if folded in REPOSITORIES and (cwd / name).is_dir():
            parts = (cwd / name / part for part in REPOSITORIES[folded])
            found += [part for part in parts if part.exists()]
        elif folded in OBEYED_FOLDERS:
            found.append(cwd / name)
    return tuple(found)


def take_snapshot(cwd: Path) -> Snapshot:
    """Note the state of every such name. What vanishes meanwhile is left out."""
    marks: dict[str, Mark] = {}
    paths = (*_obeyed_folders(cwd), *_protected_files(cwd))
    for path in paths:
        for inner in _walk(path):
            mark = _mark(inner)
            if mark:
                marks[str(inner.relative_to(cwd))] = mark
    return marks


def compare(before: Snapshot, after: Snapshot) -> Changes:
    return Changes(
        created=tuple(sorted(after.keys() - before.keys())),
        changed=tuple(sorted(n for n in before.keys() & after.keys() if before[n] != after[n])),
        removed=tuple(sorted(before.keys() - after.keys())),
    )


def _protected_files(cwd: Path) -> Iterator[Path]:
    for name in _names_in(cwd):
        folded = fold_name(name)
        # A notebook is what people work on here: to run one is to change it.
        is_watched = folded not in PROTECTED_FOLDERS and not folded.endswith(".ipynb")
        if is_watched and find_protected((name,)):
            yield cwd / name


def _names_in(folder: Path) -> list[str]:
    try:
        return sorted(entry.name for entry in os.scandir(folder))
    except OSError:
        return []


def _walk(path: Path) -> Iterator[Path]:
    yield path
    if path.is_symlink() or not path.is_dir():
        return
    count = 0
    for parent, folders, files in os.walk(path):
        folders.sort()
        for name in sorted((*folders, *files)):
            count += 1
            if count > MAX_ENTRIES:
                return
            yield Path(parent, name)


def _mark(path: Path) -> Mark:
    """The time of the last change of its state: no command can set that back."""
    try:
        found = path.lstat()
    except OSError:
        return ()
    if path.is_dir() and not path.is_symlink():
        return (found.st_mode, found.st_ino)  # what is in it is marked by itself
    return (found.st_mode, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def _list(names: tuple[str, ...], limit: int) -> str:
    rest = len(names) - limit
    more = f" and {rest} more" if rest > 0 else ""
    return ", ".join(map(shown, names[:limit])) + more
