"""Which files lie under a folder, less what git would ignore.

git itself is asked, by its own rules, through an empty repository of ours (`--git-dir`) laid over
the folder: that works outside repositories too, and reads no configuration of the folder's own
repository. Tracked files are added, also where a rule ignores them. Without git a fixed list of
folder names is left out; the answer names those that were met, and says so if rules were not read.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import anyio

from shard_jupyter.contracts.process_runner import ProcessSpec
from shard_jupyter.contracts.tool_context import ToolContext
from shard_jupyter.core.children.git_call import HARDENING, git_environment
from shard_jupyter.core.files.path_guard import is_within, shown
from shard_jupyter.core.files.protected_names import is_secret_path
from shard_jupyter.errors import ToolFailed

MAX_LIST_BYTES = 32 << 20
MAX_NESTED = 50
"""Repositories inside repositories that are looked into."""
MAX_DEPTH = 3
LIST_SECONDS = 20
MAX_NAMED = 6

SKIPPED_FOLDERS = frozenset(
    {
        ".git", ".hg", ".svn", "node_modules", ".venv", "venv", "__pycache__", ".tox", ".nox",
        ".mypy_cache", ".ruff_cache", ".pytest_cache", ".ipynb_checkpoints", "site-packages",
        "dist", "build", "target", ".next", ".cache",
    }
)  # fmt: skip
"""Left out where there is no git to ask."""


@dataclass(frozen=True)
class Listing:
    """Regular files under `folder`.

    Attributes:
        names: relative to `folder`, sorted, as the system gives them (`os.fsdecode`).
        left_out: what an ignore rule hides, folders with a slash; not their content.
        secrets: files left out because their names say that they hold keys.
        forbidden: files left out because a rule forbids or asks for them.
        note: what else a reader must know.
    """

    folder: Path
    names: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    note: str = ""

    def remark(self) -> str:
        """One line about what was not looked at; empty if nothing."""
        parts = []
        if self.left_out:
            parts.append(f"ignored by .gitignore: {_some(self.left_out)}")
        if self.secrets:
            parts.append(f"may hold secrets: {_some(self.secrets)}")
        if self.forbidden:
            parts.append(f"a rule leaves out: {_some(self.forbidden)}")
        told = f"not searched ({'; '.join(parts)})" if parts else ""
        return ". ".join(part for part in (told, self.note) if part)


async def list_files(folder: Path, context: ToolContext) -> Listing:
    """List `folder`, which is absolute and real. A folder that is itself ignored is listed whole.

    Raises:
        ToolFailed: the folder cannot be read.
    """
    found = await _list_by_git(folder, context, depth=0)
    if found is None:
        found = await anyio.to_thread.run_sync(
            _list_by_walking, folder, context, abandon_on_cancel=True
        )
    return await anyio.to_thread.run_sync(_keep_searchable, found, abandon_on_cancel=True)


async def _list_by_git(folder: Path, context: ToolContext, depth: int) -> Listing | None:
    """None where there is no git that could be asked."""
    top, empty = await anyio.to_thread.run_sync(_prepare, folder, context)
    prefix = "" if folder == top else folder.relative_to(top).as_posix() + "/"
    listing = await _ask_git(folder, top, empty, context)
    if listing is not None and any(prefix.startswith(name) for name in listing.left_out):
        # The model named an ignored folder: what it names wins over the rules above it.
        listing, prefix = await _ask_git(folder, folder, empty, context), ""
    if listing is None:
        return None
    names = {name.removeprefix(prefix) for name in listing.names}
    left_out = {name.removeprefix(prefix) for name in listing.left_out}
    nested = sorted(name for name in names if name.endswith("/"))
    names.difference_update(nested)
    for place in nested[:MAX_NESTED] if depth < MAX_DEPTH else ():
        inner = await _list_by_git(folder / place, context, depth + 1)
        if inner is not None:
            names.update(place + name for name in inner.names)
            left_out.update(place + name for name in inner.left_out)
    return Listing(folder, tuple(sorted(names)), tuple(sorted(left_out)), note=listing.note)


async def _ask_git(folder: Path, top: Path, empty: Path, context: ToolContext) -> Listing | None:
    """Names relative to `top`; a repository inside another is one name with a slash."""
    others = ["ls-files", "-z", "-o", "--exclude-per-directory=.gitignore"]
    exclude = top / ".git" / "info" / "exclude"
    if await anyio.to_thread.run_sync(exclude.is_file):
        others.append(f"--exclude-from={exclude}")
    questions = {
        "others": (f"--git-dir={empty}", *others),
        "ignored": (f"--git-dir={empty}", *others, "-i", "--directory"),
        "tracked": (f"--git-dir={top / '.git'}", "ls-files", "-z", "-c"),
    }
    scope = () if folder == top else ("--", folder.relative_to(top).as_posix())
    answers: dict[str, _Answer] = {}

    async def ask(key: str) -> None:
        answers[key] = await _names_from_git(top, questions[key], scope, context)

    async with anyio.create_task_group() as tasks:
        for key in questions:
            tasks.start_soon(ask, key)
    if not (answers["others"].is_good and answers["ignored"].is_good):
        return None
    # Where this is no repository nothing is tracked, and that answer is no good: as it should be.
    tracked = set(answers["tracked"].names)
    names = tracked.union(answers["others"].names)
    ignored = tuple(name for name in answers["ignored"].names if name not in tracked)
    is_cut = any(answer.is_cut for answer in answers.values())
    note = "the list of files is not complete: there are too many" if is_cut else ""
    return Listing(folder, tuple(names), ignored, note=note)


@dataclass(frozen=True)
class _Answer:
    names: tuple[str, ...] = ()
    is_good: bool = False
    is_cut: bool = False


async def _names_from_git(
    top: Path, question: tuple[str, ...], scope: tuple[str, ...], context: ToolContext
) -> _Answer:
    git_dir, *arguments = question
    spec = ProcessSpec(
        argv=("git", git_dir, f"--work-tree={top}", "--literal-pathspecs", *HARDENING,
              *arguments, *scope),
        cwd=top,
        env=git_environment(context.environment),
        timeout_seconds=LIST_SECONDS,
        head_bytes=MAX_LIST_BYTES,
        tail_bytes=0,
        merge_stderr=False,
    )  # fmt: skip
    try:
        outcome = await context.processes.run(spec)
    except ToolFailed:
        return _Answer()
    names = outcome.output.head.split(b"\0")
    names.pop()  # empty, or cut in the middle
    is_cut = outcome.timed_out or outcome.output.dropped_bytes > 0
    return _Answer(tuple(map(os.fsdecode, names)), outcome.exit_code == 0 or is_cut, is_cut)


def _prepare(folder: Path, context: ToolContext) -> tuple[Path, Path]:
    """Find the folder whose rules count, and make sure that our empty repository exists."""
    try:
        if not stat.S_ISDIR(folder.stat().st_mode):
            raise ToolFailed(f"{shown(folder.name)} is no folder.")
    except OSError as error:
        raise ToolFailed(f"{shown(str(folder))} does not exist or may not be read.") from error
    empty = context.scratch / "empty.git"
    for part in ("objects", "refs"):
        (empty / part).mkdir(parents=True, exist_ok=True)
    head = empty / "HEAD"
    if not head.exists():
        head.write_bytes(b"ref: refs/heads/main\n")
    for parent in (folder, *folder.parents):
        if (parent / ".git").exists():
            return parent, empty
    return (context.cwd if is_within(folder, context.cwd) else folder), empty


def _list_by_walking(folder: Path, context: ToolContext) -> Listing:
    names = []
    skipped: set[str] = set()
    top, _ = _prepare(folder, context)
    above = [parent for parent in folder.parents if is_within(parent, top)]
    unread = any((parent / ".gitignore").exists() for parent in above)
    for place, folders, files in os.walk(folder):
        unread = unread or ".gitignore" in files
        skipped.update(name for name in folders if name in SKIPPED_FOLDERS)
        folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS)
        names += [os.path.relpath(Path(place) / name, folder) for name in files]
    # Said only where it can make a difference, so that the same search says the same everywhere.
    notes = ["git is not installed, so .gitignore was not read"] if unread else []
    skipped.discard(".git")
    if skipped:
        notes.append(f"folders left out by name: {_some(tuple(sorted(skipped)))}")
    return Listing(folder, tuple(sorted(names)), note="; ".join(notes))


def _keep_searchable(listing: Listing) -> Listing:
    """Regular files only: a link may lead out of the workspace, a pipe would block."""
    is_regular = _regular_in(listing.folder)
    names = [name for name in listing.names if is_regular(name)]
    secret = tuple(name for name in names if is_secret_path(name.split("/")))
    kept = tuple(name for name in names if name not in set(secret)) if secret else tuple(names)
    return Listing(listing.folder, kept, listing.left_out, secret, note=listing.note)


def _regular_in(folder: Path) -> Callable[[str], bool]:
    """What git tells is no proof: an index may name what it likes, and a folder become a link."""
    root = str(folder)
    is_below: dict[str, bool] = {}

    def check(name: str) -> bool:
        above = f"{root}/{name}".rpartition("/")[0]
        if above not in is_below:
            is_below[above] = os.path.realpath(above) == above
        try:
            # A string join and lstat: this runs once for each of many thousand files.
            return is_below[above] and stat.S_ISREG(os.lstat(f"{root}/{name}").st_mode)
        except OSError:
            return False

    return check


def _some(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - MAX_NAMED:,} more" if len(names) > MAX_NAMED else ""
    return ", ".join(map(shown, names[:MAX_NAMED])) + more
