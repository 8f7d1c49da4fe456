"""Where a path that a model gave really leads, and safe ways to open it.

The gate calls `locate` to decide; the tool calls it again when it runs and opens what it finds
then (`open_for_read`, `replace_file`), comparing the name of the opened descriptor with the path
that was judged: a folder swapped for a link in between is noticed. Paths are compared part by part,
never as strings: `/srv/data` must not admit `/srv/data-secret`.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import sys
import unicodedata
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from shard_jupyter.errors import ToolFailed

NAME_MAX = 255
PATH_MAX = 4096
OPEN_FILES = Path("/proc/self/fd")
SPECIAL_ROOTS = frozenset({"proc", "dev", "sys"})

PROTECTED_FOLDERS = frozenset(
    {
        ".git", ".hg", ".svn", ".shard", ".agents", ".claude", ".codex", ".cursor", ".gemini",
        ".vscode", ".idea", ".jupyter", ".ipython", ".ssh", ".gnupg", ".aws", ".github",
        "jupyter_config.d", "jupyter_server_config.d", "jupyter_notebook_config.d",
    }
)  # fmt: skip
"""What lies in these runs programs, instructs agents or holds keys. Case-folded."""

PROTECTED_NAMES = (
    ".gitattributes", ".gitmodules", ".gitconfig", "agents.md", "shard.md", "claude.md",
    "gemini.md", ".mcp.json", ".envrc", "sitecustomize.py", "usercustomize.py", "conftest.py",
    "makefile", "gnumakefile", "package.json", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs",
    "rust-toolchain", "rust-toolchain.toml", ".pre-commit-config.yaml", "overrides.json",
    "custom.css", "custom.js", "kernel.json", "jupyter*_config.py", "jupyter*_config.json",
    "*.pth", "*.ipynb", ".bashrc", ".bash_profile", ".profile", ".zshrc", ".inputrc",
)  # fmt: skip
"""Globs over case-folded names: files that some program runs or obeys without being asked."""

SECRET_NAMES = (
    ".env", ".env.*", ".netrc", "_netrc", ".pypirc", ".git-credentials", ".htpasswd", ".pgpass",
    "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "*.pem", "*.key", "*.p12", "*.pfx", "*.kdbx",
    "credentials", "credentials.json", "jupyter_cookie_secret", "notebook_cookie_secret",
    "jpserver-*.json", "nbserver-*.json", "kernel-*.json",
)  # fmt: skip
"""Globs over case-folded names: files that hold keys, so that reading is no harmless act."""

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_SURROGATE = re.compile("[\ud800-\udfff]")
_ODD = re.compile(
    "[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]"
)


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
    """

    given: str
    real: Path
    inside: bool
    protected: bool = False
    why: str = ""
    secret: bool = False


def locate(cwd: Path, given: str) -> Located:
    """Find where `given` leads from `cwd`, which is absolute and real. Looks at the file system.

    Raises:
        ToolFailed: it is no usable path, or names a device, a pipe or a socket.
    """
    _refuse_unusable(given)
    real = follow(cwd / given)
    _refuse_too_long(real)
    status = _status_of(real)
    if status is not None and not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
        raise ToolFailed(f"{shown(given)} is no file but {_kind_of(status.st_mode)}.")
    if _is_special(given) or not is_within(real, cwd):
        return Located(given, real, inside=False, protected=True, why="outside the workspace",
                       secret=is_secret_name(real.name))  # fmt: skip
    inner = real.relative_to(cwd)
    secret = is_secret_name(real.name)
    why = _why_protected(inner, given) or _why_ambiguous(real, status)
    if secret and not why:
        why = f"{inner.name} may hold keys or passwords"
    return Located(given, real, inside=True, protected=bool(why), why=why, secret=secret)


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


def is_secret_name(name: str) -> bool:
    return _matches(name, SECRET_NAMES)


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


def open_for_read(located: Located) -> int:
    """Open the regular file that was judged; the caller closes the descriptor.

    Raises:
        ToolFailed: it does not exist, is no regular file, or changed its place meanwhile.
    """
    try:
        # O_NONBLOCK: a pipe put there meanwhile must not hang us.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(located.real, flags)
    except OSError as error:
        raise in_words(error, located.given) from error
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode) and is_at(descriptor, located.real):
        return descriptor
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise ToolFailed(f"{shown(located.given)} is a folder.", next_step="Use ls.")
    raise ToolFailed(f"{shown(located.given)} changed while it was opened.")


def is_at(descriptor: int, real: Path) -> bool:
    """True if the open file still has the name under which it was judged."""
    if OPEN_FILES.is_dir():
        return (OPEN_FILES / str(descriptor)).readlink() == real
    return os.path.samestat(os.fstat(descriptor), real.lstat()) and real == follow(real)


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


def _fold(name: str) -> str:
    """Names that a file system without case or with its own Unicode form takes for equal."""
    return unicodedata.normalize("NFC", name).casefold()


def _matches(name: str, globs: tuple[str, ...]) -> bool:
    folded = _fold(name)
    return any(fnmatchcase(folded, glob) for glob in globs)


def _why_protected(inner: Path, given: str) -> str:
    if _ODD.search(given) or any(part.startswith("-") for part in inner.parts):
        return "the name holds invisible characters or looks like an option"
    folder = next((part for part in inner.parts if _fold(part) in PROTECTED_FOLDERS), None)
    if folder is not None:
        return f"what lies in {folder} is run or obeyed by other programs"
    if _matches(inner.name, PROTECTED_NAMES):
        return f"{inner.name} is run or obeyed by other programs"
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
        names = [entry.name for entry in real.parent.iterdir()]
    except OSError:
        return ""
    folded = _fold(real.name)
    twin = next((name for name in names if _fold(name) == folded), None)
    return f"it differs from {shown(twin)} only by case or Unicode form" if twin else ""
