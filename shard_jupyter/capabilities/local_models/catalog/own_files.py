"""The files of our own downloads, and what is written beside them. Blocks."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import filelock

from shard_jupyter.capabilities.local_models.catalog.catalog_model import CatalogModel
from shard_jupyter.capabilities.local_models.catalog.checked_mark import (
    is_mark_of,
    mark_path,
    write_mark,
)
from shard_jupyter.capabilities.local_models.catalog.fetch.partial_file import (
    PartialFile,
    remove_partial,
    state_path,
)
from shard_jupyter.errors import UserError
from shard_jupyter.store.atomic_file import PRIVATE_FILE, sync_folder, write_atomic


def hub_part(target: Path) -> Path:
    return target.with_name(f"{target.name}.part")


def joined_part(target: Path) -> Path:
    return target.with_name(f"{target.name}.joined.part")


def wheel_part(target: Path) -> Path:
    return target.with_name(f"{target.name}.wheel.part")


def copied_part(target: Path) -> Path:
    return target.with_name(f"{target.name}.copy.part")


def all_parts(target: Path) -> tuple[Path, ...]:
    return hub_part(target), joined_part(target), wheel_part(target), copied_part(target)


def is_checked(model: CatalogModel, target: Path) -> bool:
    """Whether the file was checked against the catalogue and has not been touched since."""
    try:
        return is_mark_of(mark_path(target).read_bytes(), model, target.stat())
    except OSError:
        return False


def write_checked_mark(model: CatalogModel, file: Path, target: Path) -> None:
    """Say that `file`, which is or becomes `target`, was checked."""
    write_atomic(mark_path(target), write_mark(model, file.stat()))


def put_in_place(model: CatalogModel, partial: PartialFile, target: Path) -> None:
    """Make a whole and checked partial file the model. Nobody sees a half of it.

    The mark goes first: it fits the new file alone, so that a stop in between leaves the old
    file unmarked and not a new one unchecked.
    """
    partial.sync()
    partial.close()
    write_checked_mark(model, partial.path, target)
    partial.path.chmod(PRIVATE_FILE)
    partial.path.replace(target)
    for part in all_parts(target):
        remove_partial(part)
    sync_folder(target.parent)


def files_of(target: Path) -> tuple[Path, ...]:
    """Name all that a pull may have left of a model, wherever it stopped."""
    parts = all_parts(target)
    return (mark_path(target), target, *parts, *map(state_path, parts))


def remove_files(target: Path) -> int | None:
    """Remove the model and what is left of pulls; the bytes that were in them, None: nothing."""
    freed = None
    for file in files_of(target):
        try:
            size = os.lstat(file).st_size
            file.unlink()
        except FileNotFoundError:
            continue
        freed = (freed or 0) + size
    return freed


@contextlib.contextmanager
def hold_lock(target: Path) -> Iterator[None]:
    """Be the only one who writes this model.

    Raises:
        UserError: somebody else is at it.
    """
    path = target.with_name(f".{target.name}.lock")
    # Taken in one thread and given back in another, hence not bound to one.
    lock = filelock.FileLock(path, mode=PRIVATE_FILE, thread_local=False)
    try:
        lock.acquire(blocking=False)
    except filelock.Timeout as error:
        raise UserError(
            f"Another process is fetching or removing {target.name} now.",
            code="pull_busy",
            next_step="Wait for its end, or stop it.",
        ) from error
    try:
        yield
    finally:
        lock.release()
