"""One writer a session: a lock that says who holds it, and a number that fences stale holders.

The lock is taken on `<log>.lock`; `<log>.owner` beside it names the holder. A holder can lose the
lock without noticing (a network file system that forgot it, a lock file that somebody removed), so
before each batch it looks whether `<log>.owner` is still its own record.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from pathlib import Path
from typing import Self

import filelock
import psutil
from pydantic import ValidationError

from shard_jupyter.errors import WriterBusy, WriterFenced
from shard_jupyter.store.atomic_file import PRIVATE_FILE, write_atomic
from shard_jupyter.types.wire_model import WireModel

_SETTLE_SECONDS = 2.0
_POLL_SECONDS = 0.01


class OwnerRecord(WireModel):
    """Who holds a lock. `started` is the start of the process, so that a reused pid shows."""

    pid: int
    started: float
    generation: int
    token: str
    held: bool = True

    @property
    def is_alive(self) -> bool:
        """Whether the process that wrote this still runs and has not let go."""
        if not self.held:
            return False
        try:
            return bool(psutil.Process(self.pid).create_time() == self.started)
        except psutil.NoSuchProcess:
            return False

    def __str__(self) -> str:
        since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.started))
        return f"process {self.pid} (started {since}, generation {self.generation})"


def read_owner(log_path: Path) -> OwnerRecord | None:
    """Read who holds or last held the log; None when nobody did or the record is damaged."""
    try:
        return OwnerRecord.model_validate_json(owner_path(log_path).read_bytes())
    except (FileNotFoundError, ValidationError):
        return None


def owner_path(log_path: Path) -> Path:
    return log_path.with_name(f"{log_path.name}.owner")


def lock_path(log_path: Path) -> Path:
    return log_path.with_name(f"{log_path.name}.lock")


class WriterLock:
    """A held lock. Blocking; made by `acquire`, ended by `release`."""

    def __init__(self, log_path: Path, held: filelock.BaseFileLock, record: OwnerRecord) -> None:
        self._log_path = log_path
        self._lock = held
        self._record = record
        self._bytes = record.model_dump_json().encode()

    @property
    def generation(self) -> int:
        return self._record.generation

    @classmethod
    def acquire(cls, log_path: Path) -> Self:
        """Take the lock and the next generation number; waits for nobody.

        Raises:
            WriterBusy: another process, or another handle of this one, holds it.
            OSError: the folder cannot be written.
        """
        # Taken in one worker thread and released in another, hence not bound to a thread.
        lock = filelock.FileLock(lock_path(log_path), mode=PRIVATE_FILE, thread_local=False)
        _take(lock, log_path)
        previous = read_owner(log_path)
        record = OwnerRecord(
            pid=os.getpid(),
            started=psutil.Process().create_time(),
            generation=previous.generation + 1 if previous else 1,
            token=secrets.token_hex(8),
        )
        taken = cls(log_path, lock, record)
        try:
            # Not synced: no writer outlives a power cut, so nobody is left to be fenced by it.
            write_atomic(owner_path(log_path), taken._bytes, sync=False)
        except OSError:
            lock.release()
            raise
        return taken

    def check(self) -> None:
        """Make sure that no newer generation took over.

        Raises:
            WriterFenced: one did, or the record of this one is gone.
        """
        if not self._is_ours():
            newer = read_owner(self._log_path)
            raise WriterFenced(
                f"Another writer took over {self._log_path.name}: {newer or 'unknown'}.",
                next_step="Nothing was written by this one. Open the session again.",
            )

    def release(self) -> None:
        """Let go. Idempotent."""
        if not self._lock.is_locked:
            return
        # The record only explains; on a full disk the lock must come free all the same.
        with contextlib.suppress(OSError):
            if self._is_ours():
                free = self._record.model_copy(update={"held": False})
                write_atomic(
                    owner_path(self._log_path), free.model_dump_json().encode(), sync=False
                )
        self._lock.release()

    def _is_ours(self) -> bool:
        try:
            return owner_path(self._log_path).read_bytes() == self._bytes
        except FileNotFoundError:
            return False


def _take(lock: filelock.BaseFileLock, log_path: Path) -> None:
    """Lock, or raise `WriterBusy` naming the holder.

    A holder writes its record just after it has locked; a short wait lets that happen, so that
    the error does not name the holder before it.
    """
    deadline = time.monotonic() + _SETTLE_SECONDS
    while True:
        try:
            lock.acquire(blocking=False)
        except filelock.Timeout as error:
            owner = read_owner(log_path)
            known = owner is not None and owner.is_alive
            if known or time.monotonic() > deadline:
                name = str(owner) if known else "unknown"
                raise WriterBusy(f"{log_path.name} is in use by {name}.", owner=name) from error
            time.sleep(_POLL_SECONDS)
        else:
            return
