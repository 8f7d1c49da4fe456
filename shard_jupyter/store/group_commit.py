"""The thread that writes a log: many records, one sync.

While the disk syncs, further records gather; the next batch takes them all. A record that nobody
waits for yet lets others join it for `GATHER_SECONDS`; as soon as somebody waits, the batch goes to
disk. So nobody waits for a clock, and a burst costs one sync per `BATCH_RECORDS`.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Literal

from shard_jupyter.errors import StorageError, StorePoisoned, WriterFenced
from shard_jupyter.store.atomic_file import sync_data, write_all
from shard_jupyter.store.blobs import FileBlobStore
from shard_jupyter.store.text_spill import Spill
from shard_jupyter.store.writer_lock import WriterLock

Durability = Literal["full", "normal"]
BATCH_RECORDS = 64
BATCH_BYTES = 4 << 20
GATHER_SECONDS = 0.005
"""How long a record stays in memory, at most, while nobody waits for it."""
_AFTER_FAILURE = (
    "Nothing more is written. Make room or mend the disk, then open the session again:"
    " all that was acknowledged is in it."
)


@dataclass
class WriteFailure:
    """Why nothing is written any more. Each waiter gets an error of its own.

    `is_told` becomes True when somebody got one: a failure is never raised to nobody.
    """

    message: str
    next_step: str
    is_fenced: bool = False
    is_told: bool = False

    def error(self) -> StorageError:
        self.is_told = True
        kind = WriterFenced if self.is_fenced else StorePoisoned
        return kind(self.message, next_step=self.next_step)


class Commit:
    """The promise of one append. Not waiting for it, or giving up, does not stop the write."""

    def __init__(self) -> None:
        self._outcome: Future[WriteFailure | None] = Future()
        # From now on the future cannot be cancelled from the waiting side.
        self._outcome.set_running_or_notify_cancel()
        self._hurry: Callable[[], None] | None = None

    @property
    def is_done(self) -> bool:
        return self._outcome.done()

    async def wait(self) -> None:
        """Return when the records are on disk (`durability=normal`: with the system).

        Any number of tasks may wait.

        Raises:
            StorePoisoned: a write failed, this one or an earlier one.
            WriterFenced: a newer writer took the session over.
        """
        if self._hurry is not None and not self._outcome.done():
            self._hurry()
        failure = await asyncio.wrap_future(self._outcome)
        if failure is not None:
            raise failure.error()

    def hurry_with(self, hurry: Callable[[], None]) -> None:
        """Call `hurry` when somebody begins to wait."""
        self._hurry = hurry

    def settle(self, failure: WriteFailure | None) -> None:
        """Wake everybody who waits. Called by the writer thread, once."""
        self._outcome.set_result(failure)


@dataclass(frozen=True)
class Job:
    """One piece of work for the writer.

    Attributes:
        data: whole lines; empty for a mere barrier.
        spills: blobs that must be there before the lines are.
        must_sync: sync whatever the durability is.
        is_last: end the thread after this one.
    """

    data: bytes
    spills: tuple[Spill, ...] = ()
    must_sync: bool = False
    is_last: bool = False
    commit: Commit = field(default_factory=Commit)


class LogFile:
    """An open log of which `size` bytes are good. Takes over the descriptor."""

    def __init__(self, descriptor: int, name: str) -> None:
        self.name = name
        self.size = os.fstat(descriptor).st_size
        self._descriptor = descriptor
        self._is_dirty = False

    def append(self, data: bytes) -> None:
        """Write whole lines. After an error, `cut_back`."""
        if data:
            self._is_dirty = True
            write_all(self._descriptor, data)
            self.size += len(data)

    def sync(self) -> None:
        if self._is_dirty:
            sync_data(self._descriptor)
            self._is_dirty = False

    def cut_back(self, size: int) -> None:
        os.ftruncate(self._descriptor, size)
        self.size = size

    def close(self) -> None:
        os.close(self._descriptor)


class GroupCommit:
    """The only thread that writes to a log.

    `submit` never blocks. The thread never touches a loop but to wake a waiter.
    """

    def __init__(
        self, file: LogFile, lock: WriterLock, blobs: FileBlobStore, durability: Durability
    ) -> None:
        self._file = file
        self._lock = lock
        self._blobs = blobs
        self._syncs = durability == "full"
        self._failure: WriteFailure | None = None
        # None: somebody waits for what was queued before.
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=f"log-{file.name}", daemon=True)
        self._thread.start()

    @property
    def failure(self) -> WriteFailure | None:
        """Set once, by the thread, before any commit is told of it."""
        return self._failure

    @property
    def size(self) -> int:
        """Bytes of the log that were written well."""
        return self._file.size

    def submit(self, job: Job) -> Commit:
        job.commit.hurry_with(self._hurry)
        self._jobs.put(job)
        return job.commit

    def _hurry(self) -> None:
        self._jobs.put(None)

    def join(self) -> None:
        """Write what is queued, sync, end the thread, close the file. Blocking; call once."""
        self.submit(Job(b"", must_sync=True, is_last=True))
        self._thread.join()
        self._file.close()

    def _run(self) -> None:
        batch: list[Job] = []
        try:
            while not (batch and batch[-1].is_last):
                batch = self._next_batch()
                if self._failure is None:
                    self._failure = self._write(batch)
                for job in batch:
                    job.commit.settle(self._failure)
        finally:
            self._give_up(batch)

    def _next_batch(self) -> list[Job]:
        first = self._jobs.get()
        while first is None:  # what it was about has gone to disk already
            first = self._jobs.get()
        batch, size = [first], len(first.data)
        deadline = time.monotonic() + GATHER_SECONDS
        is_awaited = first.must_sync
        while len(batch) < BATCH_RECORDS and size < BATCH_BYTES and not batch[-1].is_last:
            try:
                job = self._take(None if is_awaited else deadline)
            except Empty:
                break
            if job is None:
                is_awaited = True
            else:
                is_awaited = is_awaited or job.must_sync
                size += len(job.data)
                batch.append(job)
        return batch

    def _take(self, deadline: float | None) -> Job | None:
        """Return what comes next; raises Empty at the deadline, at once without one."""
        if deadline is None:
            return self._jobs.get_nowait()
        return self._jobs.get(timeout=max(0.0, deadline - time.monotonic()))

    def _write(self, batch: Sequence[Job]) -> WriteFailure | None:
        good_size = self._file.size
        try:
            self._lock.check()
            self._write_batch(batch)
        except WriterFenced as error:
            return WriteFailure(error.message, error.next_step, is_fenced=True)
        except (OSError, MemoryError) as error:
            self._cut_back(good_size)
            return WriteFailure(
                f"Writing {self._file.name} failed: {_describe_failure(error)}.", _AFTER_FAILURE
            )
        return None

    def _write_batch(self, batch: Sequence[Job]) -> None:
        for spill in (spill for job in batch for spill in job.spills):
            self._blobs.write(spill.data, sync=self._syncs)
        self._file.append(b"".join(job.data for job in batch))
        if self._syncs or any(job.must_sync for job in batch):
            self._file.sync()

    def _cut_back(self, size: int) -> None:
        """Take away what the failed batch left in the file; else the next open does it."""
        with contextlib.suppress(OSError, WriterFenced):
            # Bytes beyond ours may be the records of a newer writer.
            self._lock.check()
            self._file.cut_back(size)

    def _give_up(self, batch: Sequence[Job]) -> None:
        """Leave nobody waiting, even if a fault of ours ended the thread."""
        rest = [job for job in batch if not job.commit.is_done]
        while not self._jobs.empty():
            job = self._jobs.get()
            if job is not None:
                rest.append(job)
        if rest and self._failure is None:
            text = f"The writer of {self._file.name} ended by a fault."
            self._failure = WriteFailure(text, _AFTER_FAILURE)
        for job in rest:
            job.commit.settle(self._failure)


def _describe_failure(error: OSError | MemoryError) -> str:
    if isinstance(error, MemoryError):
        return "out of memory"
    name = errno.errorcode.get(error.errno or 0, "unknown error")
    return f"{error.strerror or error} ({name})"
