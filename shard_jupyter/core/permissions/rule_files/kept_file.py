"""Files that several processes change: read by their stamp, written whole under a lock."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Generic, TypeVar

import filelock

from shard_jupyter.core.files.path_guard import shown
from shard_jupyter.errors import StorageError
from shard_jupyter.store.atomic_file import PRIVATE_FILE, make_private_folder, write_atomic

Content = TypeVar("Content")
LOCK_SECONDS = 10.0
_Stamp = tuple[int, int, int] | None


class ReadAgain(Generic[Content]):
    """What a file holds now; read only when it has changed. Blocking.

    Every writer replaces the file, so that another inode, time or size tells of a change.
    """

    def __init__(self, path: Path, read: Callable[[], Content]) -> None:
        self._path = path
        self._read = read
        self._known: tuple[_Stamp, Content] | None = None

    def content(self) -> Content:
        """Return it. Errors of the reader pass, and the file is read again the next time."""
        stamp = self._stamp()
        known = self._known
        if known is None or known[0] != stamp:
            # The stamp is from before: what is written meanwhile is read the next time.
            known = self._known = (stamp, self._read())
        return known[1]

    def _stamp(self) -> _Stamp:
        try:
            status = self._path.stat()
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns, status.st_size


@contextmanager
def changing(path: Path) -> Iterator[None]:
    """Hold the lock of a file while it is read and written anew. Blocking; makes its folder.

    Raises:
        StorageError: another process holds it, or the disk refuses.
    """
    lock = path.with_name(f".{path.name}.lock")
    try:
        make_private_folder(path.parent)
        held = filelock.FileLock(lock, mode=PRIVATE_FILE, timeout=LOCK_SECONDS, thread_local=False)
        with held:
            yield
    except filelock.Timeout as error:
        raise StorageError(
            f"{shown(str(path))} is being changed by another process.", next_step="Try again."
        ) from error
    except OSError as error:
        raise StorageError(
            f"{shown(str(path))} cannot be changed: {error.strerror or error}.",
            next_step="Mend the permissions of its folder, or make room on the disk.",
        ) from error


def replace_text(path: Path, text: str) -> None:
    """Write the file anew; a link to one kept elsewhere stays a link. Hold the lock."""
    write_atomic(path.resolve(), text.encode("utf-8"))
