"""What the commands of one agent may reach. Looks at the file system, changes nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from shard_jupyter.contracts.process_runner import SandboxPolicy
from shard_jupyter.core.files.own_places import own_places
from shard_jupyter.core.sandbox.hidden_places import both_names, find_hidden
from shard_jupyter.core.sandbox.program_places import find_programs
from shard_jupyter.core.sandbox.watched_names import find_read_only

SYSTEM = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/etc", "/proc", "/sys",
    "/nix", "/gnu", "/snap", "/run/current-system",
)  # fmt: skip


def make_policy(
    cwd: Path, environ: Mapping[str, str], *, scratch: Path, temporary: Path, state: Path
) -> SandboxPolicy:
    """Build the policy; all paths are absolute.

    `environ` is that of this process, not the children's: where keys lie is told by variables that
    no child gets. `scratch` may be read, `temporary` in it also written, the rest of `state`, the
    folder of the session, is hidden.
    """
    home = Path(os.path.realpath(environ.get("HOME") or Path.home()))
    hidden = (
        *find_hidden(environ, home, is_root=os.geteuid() == 0),
        *own_places(environ),
        *both_names(state),
    )
    readable = [Path(name) for name in SYSTEM if Path(name).exists()]
    readable += find_programs(environ, home)
    readable += _find_repository(cwd, home)
    readable += [path for path in both_names(Path("/etc/resolv.conf")) if path.exists()]
    readable.append(Path(os.path.realpath(scratch)))
    own = Path(os.path.realpath(temporary))
    granted = (cwd, own, *_drop_covered(readable, hidden))
    return SandboxPolicy(
        writable=granted[:2],
        readable=granted[2:],
        hidden=_take_inner(hidden, granted),
        protected=find_read_only(cwd),
        temporary=own,
    )


def _take_inner(hidden: Sequence[Path], granted: Sequence[Path]) -> tuple[Path, ...]:
    """Leave out what lies nowhere that is granted: every command would look for it."""
    roots = tuple(f"{path}/".replace("//", "/") for path in granted)
    return tuple(path for path in dict.fromkeys(hidden) if f"{path}/".startswith(roots))


def _drop_covered(readable: list[Path], hidden: Sequence[Path]) -> tuple[Path, ...]:
    """Leave out what another entry holds already: each is a mount in some sandboxes."""
    distinct = dict.fromkeys(path for path in readable if path not in hidden)
    return tuple(
        path
        for path in distinct
        if not any(
            path != other and path.is_relative_to(other) and not _is_cut(path, other, hidden)
            for other in distinct
        )
    )


def _is_cut(path: Path, other: Path, hidden: Sequence[Path]) -> bool:
    return any(path.is_relative_to(cut) and cut.is_relative_to(other) for cut in hidden)


def _find_repository(cwd: Path, home: Path) -> Iterator[Path]:
    """Yield the repository around a workspace that is only a part of it, or a worktree of it."""
    root = next((folder for folder in (cwd, *cwd.parents) if (folder / ".git").exists()), None)
    if root is None or home.is_relative_to(root):
        return
    if root != cwd:
        yield root
    link = root / ".git"
    if link.is_file():
        yield from (found for found in _find_git_folders(link) if not home.is_relative_to(found))


def _find_git_folders(link: Path) -> Iterator[Path]:
    """Follow `.git` of a worktree, if the repository names that worktree in turn.

    What stands in a workspace must not open any folder that it likes.
    """
    folder = Path(os.path.realpath(link.parent / _read_line(link).removeprefix("gitdir:").strip()))
    back = _read_line(folder / "gitdir")
    if back and os.path.realpath(folder / back) == os.path.realpath(link):
        yield folder
        yield Path(os.path.realpath(folder / (_read_line(folder / "commondir") or ".")))


def _read_line(file: Path) -> str:
    if not file.is_file():  # a pipe would hang us
        return ""
    try:
        with file.open("rb") as stream:
            return os.fsdecode(stream.read(4096).split(b"\n")[0])
    except OSError:
        return ""
