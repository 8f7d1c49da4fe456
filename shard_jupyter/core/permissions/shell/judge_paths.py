"""Whether a path that a command reads may be read without a person."""

from __future__ import annotations

import os
from collections.abc import Collection
from fnmatch import fnmatchcase
from pathlib import Path

from shard_jupyter.core.files.path_guard import Located, is_within, locate, shown
from shard_jupyter.core.files.protected_names import is_secret_name, is_secret_path
from shard_jupyter.core.permissions.shell.look_budget import LookBudget
from shard_jupyter.errors import ToolFailed

_SHOWS_NO_SECRET = frozenset({"find", "ls", "tree", "du", "fd", "git"})
"""These go deep, but show names, not what is in the files. git shows what is in its history."""
_VERSION_CONTROL = frozenset({".git", ".hg", ".svn", ".jj"})


def find_place(workspace: Path, folder: Path, given: str) -> Located:
    """Find where `given` leads from `folder`, which lies in `workspace`.

    Raises:
        ToolFailed: it is no usable path, or leads to a device, a pipe or a socket.
    """
    is_as_given = folder == workspace or given.startswith(("/", "~")) or not given
    # Put together as text: what `..` means after a link is for the file system to say.
    return locate(workspace, given if is_as_given else f"{folder}/{given}")


def refuse_read(workspace: Path, folder: Path, given: str) -> str:
    """Say why `given` is not read without a person; empty if it is."""
    try:
        place = find_place(workspace, folder, given)
    except ToolFailed as failed:
        return str(failed).replace(f"{shown(str(folder))}/", "").rstrip(".")
    if not place.inside:
        return f"{shown(given)} leads out of the workspace"
    if place.unclear:
        return place.why
    if place.secret or is_secret_name(Path(given).name):
        return f"{shown(given)} may hold keys or passwords"
    parts = {part.casefold() for part in place.real.relative_to(workspace).parts}
    if not parts.isdisjoint(_VERSION_CONTROL):
        return f"{shown(given)} belongs to version control and may hold passwords"
    return ""


def refuse_read_below(
    workspace: Path,
    folder: Path,
    given: str,
    program: str,
    skips: Collection[str],
    budget: LookBudget,
) -> str:
    """Say why all that lies below `given` is not read by `program`; empty if it is.

    `skips`: see `ArgvReading.skips`.

    Raises:
        NotPlain: it is too much to look for secrets in.
    """
    if program in _SHOWS_NO_SECRET:
        return ""
    top = Path(os.path.realpath(folder / given))
    if not is_within(top, workspace):
        return ""  # `refuse_read` has said so
    return _find_secret(top, workspace, skips, budget)


def _find_secret(top: Path, workspace: Path, skips: Collection[str], budget: LookBudget) -> str:
    waiting = [top]
    while waiting:
        here = waiting.pop()
        try:
            entries = list(os.scandir(here))
        except OSError:
            continue
        budget.spend(len(entries))
        for entry in entries:
            # A link is not followed.
            is_folder = entry.is_dir(follow_symlinks=False)
            if entry.is_symlink() or _is_skipped(entry.name, skips, is_folder=is_folder):
                continue
            if is_folder:
                waiting.append(Path(entry.path))
            elif is_secret_path(Path(entry.path).relative_to(workspace).parts):
                return f"{shown(entry.name)} below it may hold keys or passwords"
    return ""


def _is_skipped(name: str, skips: Collection[str], *, is_folder: bool) -> bool:
    return any(
        glob.endswith("/") == is_folder and fnmatchcase(name, glob.removesuffix("/"))
        for glob in skips
    )
