"""Where history is kept: one append-only file of entries a session (Shard §10).

One process writes it, one thread of that process. What a `Commit` has acknowledged survives a
kill; what it has not may be lost, but never breaks what is before it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Self

import anyio
import anyio.to_thread

from shard_jupyter.errors import Bug, StorageError, WriterBusy
from shard_jupyter.store.atomic_file import LF
from shard_jupyter.store.entry_codec import encode_entry, entry_id, entry_parent
from shard_jupyter.store.group_commit import Commit, Durability, Job
from shard_jupyter.store.open_report import OpenReport
from shard_jupyter.store.session_file import OpenedSession, create_file, open_file, read_file
from shard_jupyter.store.session_summary import save_summary
from shard_jupyter.store.text_spill import Spill, spill_large_texts
from shard_jupyter.types.session_entries import SessionEntry, SessionHeader

_LOCK_POLL_SECONDS = 0.05


class SessionLog:
    """A log that is open for writing. Made by `create` or `open`; whoever made it closes it.

    All methods belong to one event loop. The file, the lock and the writer thread belong to this
    object and to the session of its header: nothing here follows a "current" session.
    """

    def __init__(self, opened: OpenedSession) -> None:
        self.path = opened.path
        self.header = opened.header
        """None only for a log whose header was lost."""
        self.report = opened.report
        """What was found and mended at the opening; not kept up to date afterwards."""
        self.blobs = opened.blobs
        self._entries = opened.entries
        self._ids = {entry_id(entry) for entry in opened.entries}
        self._lock = opened.lock
        self._commits = opened.commits
        self._closing = threading.Lock()
        self._is_closed = False
        self._is_released = False

    @classmethod
    async def create(
        cls,
        path: Path,
        header: SessionHeader,
        *,
        durability: Durability = "full",
        entries: Sequence[SessionEntry] = (),
    ) -> Self:
        """Start a log, with `entries` after its header.

        The file (0600) and its name are on disk when this returns.

        Raises:
            UsageError: there is a file of that name.
            WriterBusy: another process is just making it.
            StorageError: the disk refuses.
        """
        make = partial(create_file, path, (header, *entries), durability)
        return cls(await anyio.to_thread.run_sync(make))

    @classmethod
    async def open(
        cls, path: Path, *, durability: Durability = "full", lock_wait_seconds: float = 0.0
    ) -> Self:
        """Take the lock, read the log and mend its end.

        Raises:
            SessionNotFound: no such file.
            WriterBusy: somebody else writes it, even after `lock_wait_seconds`.
            SessionDamaged: it is no file, or of a version this program does not know.
            StorageError: the disk refuses.
        """
        deadline = time.monotonic() + lock_wait_seconds
        while True:
            try:
                return cls(await anyio.to_thread.run_sync(open_file, path, durability))
            except WriterBusy:
                if time.monotonic() >= deadline:
                    raise
            await anyio.sleep(_LOCK_POLL_SECONDS)

    @property
    def entries(self) -> Sequence[SessionEntry]:
        """All entries in file order, the header first. Grows with each append; do not change."""
        return self._entries

    @property
    def leaf_id(self) -> str | None:
        """Id of the newest entry, None while there is only the header."""
        last = self._entries[-1] if self._entries else None
        return None if last is None or isinstance(last, SessionHeader) else entry_id(last)

    def append(self, *entries: SessionEntry) -> Commit:
        """Queue entries, in order. Never blocks; nothing of the call is queued if it raises.

        Texts over 64 kB go to the blob folder; `self.entries` holds the entries as they are
        written, with such texts cut and half characters replaced.

        Raises:
            StorePoisoned, WriterFenced: known already.
            StorageError: the log is closed, or an entry cannot be written as JSON.
            Bug: an entry is of another session (its parent is not in this log), or is there.
        """
        self._refuse_when_dead()
        stored: list[SessionEntry] = []
        lines: list[bytes] = []
        spills: list[Spill] = []
        ids: set[str] = set()
        for entry in entries:
            cut, cut_off = spill_large_texts(entry)
            line, kept = encode_entry(cut)
            self._refuse_foreign(kept, ids)
            ids.add(entry_id(kept))
            lines.append(line + LF)
            spills.extend(cut_off)
            stored.append(kept)
        commit = self._commits.submit(Job(b"".join(lines), tuple(spills)))
        self._entries.extend(stored)
        self._ids |= ids
        return commit

    async def flush(self) -> None:
        """Return when all that was appended is synced, whatever the durability.

        Raises:
            StorePoisoned, WriterFenced: it never will be.
        """
        self._refuse_when_dead()
        await self._commits.submit(Job(b"", must_sync=True)).wait()

    async def aclose(self) -> None:
        """Write what is queued, sync, let go of the lock. Idempotent; not cut by cancellation.

        Raises:
            StorePoisoned, WriterFenced: the last records failed, and nobody was told so far.
        """
        self._is_closed = True
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self._close_file)
        failure = self._commits.failure
        if failure is not None and not failure.is_told:
            raise failure.error()

    def _refuse_when_dead(self) -> None:
        if self._commits.failure is not None:
            raise self._commits.failure.error()
        if self._is_closed:
            raise StorageError(f"{self.path.name} is closed.", code="log_closed")

    def _refuse_foreign(self, entry: SessionEntry, earlier: set[str]) -> None:
        own, parent = entry_id(entry), entry_parent(entry)
        if own in self._ids or own in earlier:
            raise Bug(f"entry {own} is in {self.path} already")
        if parent is not None and parent not in self._ids and parent not in earlier:
            raise Bug(f"entry {own} has parent {parent}, which is not in {self.path}")
        if isinstance(entry, SessionHeader) and self.header is not None:
            raise Bug(f"{self.path} has a header already")

    def _close_file(self) -> None:
        with self._closing:
            if self._is_released:
                return
            self._is_released = True
            try:
                self._commits.join()
                if self._commits.failure is None:
                    save_summary(self.path, self._entries, self._commits.size)
            finally:
                self._lock.release()


async def read_session(path: Path) -> tuple[list[SessionEntry], OpenReport]:
    """Read a log as `open` does, without a lock and without changing anything.

    Raises:
        SessionNotFound: no such file.
        StorageError: it cannot be read.
    """
    return await anyio.to_thread.run_sync(read_file, path)
