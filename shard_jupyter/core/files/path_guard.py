"""Where a path that a model gave really leads, and what speaks against going there.

The gate calls `locate` to decide. The tool calls `locate_again` when it runs, which notices that
the path has come to lead elsewhere, and opens what was found (`safe_open.py`, `file_change.py`).
Paths are compared part by part, never as strings: `/srv/data` must not admit `/srv/data-secret`.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from shard_jupyter.contracts.tool_context import ToolContext
from shard_jupyter.core.files.own_places import own_places
from shard_jupyter.core.files.protected_names import (
    find_protected,
    fold_name,
    is_secret_path,
)
from shard_jupyter.errors import ToolFailed

NAME_MAX = 255
PATH_MAX = 4096
SPECIAL_ROOTS = frozenset({"proc", "dev", "sys"})

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_SURROGATE = re.compile("[\ud800-\udfff]")
_ODD = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb"
    "\U000e0000-\U000e0fff]"
)
_VARIABLE = re.compile(r"\$\w+|.*(\$[({]|`|%\w+%).*", re.DOTALL)
"""A part of a path that some shell would have replaced: `$HOME`, `${X}`, `$(x)`, `%X%`."""

_FOLLOW_TRIES = 50


@dataclass(frozen=True)
class Located:
    """One path, judged.

    Attributes:
        real: absolute, every link followed, also that of a last part that does not exist yet.
        inside: it lies in the workspace.
        protected: changing it needs a person, whatever the mode.
        why: what speaks against it, in words; empty when nothing does.
        secret: its name says that it holds keys, so that reading it needs a person too.
        unclear: it may be meant to name another place, so that reading it needs a person too.
        workspace: the folder below which it is opened, if it is inside.
    """

    given: str
    real: Path
    inside: bool
    protected: bool = False
    why: str = ""
    secret: bool = False
    unclear: bool = False
    workspace: Path | None = field(default=None, compare=False)

    @property
    def reads_freely(self) -> bool:
        """Reading it needs no person: it is contained and, by its name, no secret."""
        return self.inside and not self.secret and not self.unclear


def locate(cwd: Path, given: str, own: Sequence[Path] = ()) -> Located:
    """Find where `given` leads from `cwd`, which is absolute and real. Looks at the file system.

    `own` are folders of ours, besides those that the environment of this process names.

    Raises:
        ToolFailed: it is no usable path, or names a device, a pipe or a socket.
    """
    _refuse_unusable(given)
    real = follow(cwd / given)
    _refuse_too_long(real)
    status = _status_of(real)
    if status is not None and not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
        raise ToolFailed(f"{shown(given)} is no file but {_kind_of(status.st_mode)}.")
    secret = is_secret_path(real.parts)
    if _is_special(given) or not is_within(real, cwd):
        return Located(given, real, inside=False, protected=True, why="outside the workspace",
                       secret=secret)  # fmt: skip
    inner = Path(*spell_as_on_disk(cwd, real.relative_to(cwd).parts))
    is_ours = any(is_within(real, place) for place in (*own_places(os.environ), *own))
    unclear = _why_unclear(inner, given)
    secret = is_secret_path(inner.parts) or is_ours
    why = (
        unclear
        or (f"{inner} belongs to shard itself" if is_ours else "")
        or _why_protected(inner)
        or (f"{inner.name} may hold keys or passwords" if secret else "")
        or _why_ambiguous(real, status)
    )
    return Located(given, real, inside=True, protected=bool(why), why=why, secret=secret,
                   unclear=bool(unclear), workspace=cwd)  # fmt: skip


def locate_again(context: ToolContext, given: str) -> Located:
    """Find where `given` leads as the call runs, and hold it against what the gate judged.

    Raises:
        ToolFailed: as `locate`; or it leads elsewhere than what was allowed.
    """
    located = locate(context.cwd, given)
    judged = context.places
    if judged is not None and judged.get(given) != str(located.real):
        raise ToolFailed(
            f"{shown(given)} changed meanwhile: it leads elsewhere than what was allowed.",
            next_step="Call it again.",
        )
    return located


def follow(path: Path) -> Path:
    """Follow every link, also where one vanishes, or a file takes its place, meanwhile.

    Raises:
        ToolFailed: it changes each time.
    """
    for _ in range(_FOLLOW_TRIES):
        with contextlib.suppress(OSError):
            return Path(os.path.realpath(path))
    raise ToolFailed(f"{shown(str(path))} changes while it is looked at.")


def is_within(path: Path, folder: Path) -> bool:
    """Compare parts: a longer name is no child."""
    return path.parts[: len(folder.parts)] == folder.parts


def shown(name: str) -> str:
    """A name as one may print it: valid, on one line, with invisible characters visible."""
    valid = name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return _ODD.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), valid)


def in_words(error: OSError, given: str) -> ToolFailed:
    """An error of the system as the model may read it."""
    reason = {
        FileNotFoundError: "does not exist",
        IsADirectoryError: "is a folder",
        NotADirectoryError: "goes through something that is no folder",
        FileExistsError: "goes through something that is no folder",
        PermissionError: "may not be accessed (permission denied)",
    }.get(type(error), f"cannot be used: {error.strerror or error}")
    return ToolFailed(f"{shown(given)} {reason}.")


def _refuse_unusable(given: str) -> None:
    if not given or given.isspace():
        raise ToolFailed("The path is empty.")
    if "\0" in given or _SURROGATE.search(given):
        raise ToolFailed("The path holds a character that no file name can hold.")
    if given.startswith("~"):
        raise ToolFailed(f"{shown(given)}: ~ is not expanded. Give the path in full.")
    if _URL.match(given):
        raise ToolFailed(f"{shown(given)} is a URL, not a path.")


def _refuse_too_long(real: Path) -> None:
    if len(os.fsencode(real)) >= PATH_MAX:
        raise ToolFailed("The path is too long.")
    if any(len(os.fsencode(part)) > NAME_MAX for part in real.parts):
        raise ToolFailed(f"A name in the path is longer than {NAME_MAX} bytes.")


def _is_special(given: str) -> bool:
    """`/proc/self/cwd` would lead back inside by a link that belongs to us, not to the model."""
    parts = Path(os.path.normpath(given)).parts
    return len(parts) > 1 and parts[0] == "/" and parts[1] in SPECIAL_ROOTS


def _status_of(real: Path) -> os.stat_result | None:
    try:
        return real.lstat()
    except OSError:
        return None


def _kind_of(mode: int) -> str:
    kinds = (
        (stat.S_ISFIFO, "a pipe"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISCHR, "a device"),
        (stat.S_ISBLK, "a device"),
        (stat.S_ISLNK, "a link that leads in a circle"),
    )
    return next((name for test, name in kinds if test(mode)), "something special")


def spell_as_on_disk(folder: Path, parts: Sequence[str]) -> tuple[str, ...]:
    """Give each part the name that its folder lists, where a disk knows it by another one too.

    `GIT~1` is `.git` on a disk with short names; letters may be composed in other ways. Names that
    differ by case alone need no look, see `fold_name`.
    """
    spelled = list(parts)
    for at, part in enumerate(parts):
        if part.isascii() and "~" not in part:
            continue
        above = folder.joinpath(*parts[:at])
        with contextlib.suppress(OSError):
            inode = (above / part).lstat().st_ino
            with os.scandir(above) as scan:
                same = [entry.name for entry in scan if entry.inode() == inode]
            if same and part not in same:
                spelled[at] = same[0]
    return tuple(spelled)


def _why_unclear(inner: Path, given: str) -> str:
    if _ODD.search(given) or _ODD.search(str(inner)) or any(p.startswith("-") for p in inner.parts):
        return "the name holds invisible characters or looks like an option"
    parts = (*inner.parts, *given.split("/"))
    variable = next((part for part in parts if _VARIABLE.fullmatch(part)), None)
    return f"{shown(variable)} looks like a variable that is not expanded" if variable else ""


def _why_protected(inner: Path) -> str:
    if not inner.parts:
        return "it is the workspace itself"
    part = find_protected(inner.parts)
    if part:
        return f"{shown(part)} is run or obeyed by other programs, or what lies in it is"
    if _module_of(inner) in sys.stdlib_module_names:
        return f"{inner} hides a module of Python's own from programs started here"
    return ""


def _module_of(inner: Path) -> str:
    """The module that a program started in the workspace would find under this path."""
    is_package = len(inner.parts) == 2 and inner.name == "__init__.py"
    is_module = len(inner.parts) == 1 and inner.suffix == ".py"
    return inner.parts[0].removesuffix(".py") if is_package or is_module else ""


def _why_ambiguous(real: Path, status: os.stat_result | None) -> str:
    """Another name of the same file, now or on a disk without case."""
    if status is not None:
        if stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
            return f"the file has {status.st_nlink} names (hard links)"
        return ""
    try:
        with os.scandir(real.parent) as scan:
            names = [entry.name for entry in scan]
    except OSError:
        return ""
    folded = fold_name(real.name)
    twin = next((name for name in names if fold_name(name) == folded), None)
    return f"it differs from {shown(twin)} only by case or Unicode form" if twin else ""
