"""Where a git repository really is, and that all of it is there.

A repository that came with a workspace may name other places: another repository of the same
person by its `.git` file, or any file by a link inside of it, of which git would tell lines.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from shard_jupyter.errors import ToolFailed

MAX_ENTRIES = 50_000
"""Files of one repository, without its objects, that are looked at."""
MAX_POINTER_BYTES = 4096
ASK = "Run it as `command git …`, which a person is asked about."

_NOT_READ = frozenset(("objects", "modules", "hooks", "lfs", "annex"))
"""Folders in which git looks for nothing, or of which it tells nothing as it stands."""


@dataclass(frozen=True)
class Repository:
    """`top` is the folder that holds `.git`; `git_dir` what that is or points to."""

    top: Path
    git_dir: Path


def find_repository(cwd: Path, *, is_quick: bool = False) -> Repository | None:
    """Find the repository that git would use in `cwd`. Blocks.

    `is_quick`: look at no more than where it is, for a decision; what runs must look at all of it.

    Raises:
        ToolFailed: it leads somewhere else.
    """
    real = Path(os.path.realpath(cwd))
    for folder in (real, *real.parents):
        if os.path.lexists(folder / ".git"):
            repository = Repository(folder, _read_git_dir(folder))
            _check(repository, is_quick=is_quick)
            return repository
    return None


def _elsewhere(path: Path) -> ToolFailed:
    return ToolFailed(
        f"The git repository leads somewhere else by {path.name}.",
        next_step=ASK,
    )


def _read_git_dir(top: Path) -> Path:
    dot_git = top / ".git"
    if dot_git.is_symlink():
        raise _elsewhere(dot_git)
    if dot_git.is_dir():
        return dot_git
    git_dir = _follow_pointer(dot_git, b"gitdir: ")
    if not (git_dir.is_relative_to(top) or _is_submodule(top, git_dir) or _is_linked(top, git_dir)):
        raise _elsewhere(dot_git)
    return git_dir


def _follow_pointer(file: Path, prefix: bytes = b"") -> Path:
    content = _read_small(file)
    target = content.removeprefix(prefix).rstrip(b"\r\n")
    if not content.startswith(prefix) or not target or b"\0" in target or b"\n" in target:
        raise ToolFailed(f"{file.name} of the git repository cannot be understood.")
    return Path(os.path.realpath(file.parent / os.fsdecode(target)))


def _read_small(file: Path) -> bytes:
    """Read the start of a regular file; a pipe in its place must not hang us."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as stream:
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                return stream.read(MAX_POINTER_BYTES)
    except OSError as error:
        raise ToolFailed(f"{file.name} of the git repository cannot be read.") from error
    raise ToolFailed(f"{file.name} of the git repository is no file.", next_step=ASK)


def _is_submodule(top: Path, git_dir: Path) -> bool:
    """The repository of a submodule lies in that of the folder around it."""
    for folder in top.parents:
        if os.path.lexists(folder / ".git"):
            return git_dir.is_relative_to(_read_git_dir(folder) / "modules")
    return False


def _is_linked(top: Path, git_dir: Path) -> bool:
    """A linked work tree is known to the repository that it points to."""
    back, common = git_dir / "gitdir", git_dir / "commondir"
    return (
        back.is_file()
        and common.is_file()
        and _follow_pointer(common) == git_dir.parent.parent
        and git_dir.parent.name == "worktrees"
        and _follow_pointer(back) == top / ".git"
    )


def check_files(repository: Repository, files: Iterable[str]) -> None:
    """Refuse files, relative to the top, that lie in no folder of the repository. Blocks.

    Raises:
        ToolFailed: one does.
    """
    places = (repository.top, *_places(repository))
    for file in files:
        path = Path(os.path.realpath(repository.top / file))
        if not any(path.is_relative_to(place) for place in places):
            raise _elsewhere(path)


def _places(repository: Repository) -> list[Path]:
    places = [repository.git_dir]
    if os.path.lexists(common := repository.git_dir / "commondir"):
        if not _is_linked(repository.top, repository.git_dir):
            raise _elsewhere(common)
        places.append(_follow_pointer(common))
    return places


def _check(repository: Repository, *, is_quick: bool) -> None:
    """Refuse links, objects elsewhere, and a `commondir` that is not that of a linked work tree."""
    for place in _places(repository):
        for at, entry in enumerate(_scan(place) if is_quick else _entries(place)):
            if entry.is_symlink() or at > MAX_ENTRIES:
                raise _elsewhere(Path(entry.path))
        _check_alternates(repository, place / "objects")


def _check_alternates(repository: Repository, objects: Path) -> None:
    """Whoever knows the name of an object could have it shown from the repository of another."""
    file = objects / "info" / "alternates"
    if not os.path.lexists(file):
        return
    content = _read_small(file)
    lines = [line for line in content.split(b"\n") if line and not line.startswith(b"#")]
    for line in lines:
        path = Path(os.path.realpath(objects / os.fsdecode(line)))
        if not path.is_relative_to(repository.top) or len(content) == MAX_POINTER_BYTES:
            raise _elsewhere(file)


def _entries(git_dir: Path) -> Iterator[os.DirEntry[str]]:
    objects = git_dir / "objects"
    folders = [git_dir, objects, objects / "info", objects / "pack"]
    try:
        while folders:
            folder = folders.pop()
            is_below = objects not in (folder, *folder.parents)
            for entry in _scan(folder):
                yield entry
                is_skipped = entry.name in _NOT_READ and folder == git_dir
                if entry.is_dir(follow_symlinks=False) and is_below and not is_skipped:
                    folders.append(Path(entry.path))
    except OSError as error:
        raise ToolFailed("The git repository cannot be read.") from error


def _scan(folder: Path) -> list[os.DirEntry[str]]:
    """What is in a folder; nothing where it is none, or has just been removed by a git at work."""
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except (FileNotFoundError, NotADirectoryError):
        return []
