"""The writer thread: how many syncs, and what a disk that fails does. Real files throughout."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import anyio
import pytest

from shard_jupyter.errors import StorePoisoned
from shard_jupyter.store import group_commit
from shard_jupyter.store.blobs import FileBlobStore
from shard_jupyter.store.group_commit import Commit, Durability, GroupCommit, Job, LogFile
from shard_jupyter.store.text_spill import Spill
from shard_jupyter.store.writer_lock import WriterLock

pytestmark = pytest.mark.proves("A11")


class GatedFile(LogFile):
    """A log on a slow disk: each sync waits until the test lets it through."""

    def __init__(self, path: Path) -> None:
        super().__init__(os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600), path.name)
        self.arrived = threading.Semaphore(0)
        self.gate = threading.Semaphore(0)
        self.sizes: list[int] = []

    def sync(self) -> None:
        self.sizes.append(self.size)
        self.arrived.release()
        assert self.gate.acquire(timeout=30)
        super().sync()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "session.jsonl"


async def start(log: Path, file: LogFile, durability: Durability = "full") -> GroupCommit:
    lock = await anyio.to_thread.run_sync(WriterLock.acquire, log)
    return GroupCommit(file, lock, FileBlobStore(log.parent / "b"), durability)


async def in_thread(function: object, *arguments: object) -> None:
    await anyio.to_thread.run_sync(function, *arguments)  # type: ignore[arg-type]


async def test_a_lone_record_is_synced_at_once_and_a_burst_shares_syncs(log: Path) -> None:
    file = GatedFile(log)
    writer = await start(log, file)
    with anyio.fail_after(30):
        commits = [writer.submit(Job(b"a\n"))]
        await in_thread(file.arrived.acquire)
        commits += [writer.submit(Job(b"b\n")) for _ in range(100)]
        file.gate.release(10)
        for commit in commits:
            await commit.wait()
        await in_thread(writer.join)
    # One record, then what had gathered behind it: 64, then the last 36; then the close.
    assert [size // 2 for size in file.sizes] == [1, 65, 101, 101]


async def test_records_gather_until_somebody_waits_and_then_share_one_sync(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_commit, "GATHER_SECONDS", 3600.0)
    file = GatedFile(log)
    file.gate.release(10)
    writer = await start(log, file)
    with anyio.fail_after(30):
        commits = [writer.submit(Job(b"a\n")) for _ in range(3)]
        assert file.sizes == []
        await commits[1].wait()
        assert file.sizes == [6]
        # What was waited for is over: the next record gathers again.
        late = writer.submit(Job(b"b\n"))
        assert file.sizes == [6]
        await late.wait()
        await in_thread(writer.join)
    assert next(size for size in file.sizes if size > 6) == 8


async def test_a_record_that_nobody_waits_for_gets_to_disk_all_the_same(log: Path) -> None:
    file = GatedFile(log)
    file.gate.release(10)
    writer = await start(log, file)
    with anyio.fail_after(30):
        writer.submit(Job(b"a\n"))
        await in_thread(file.arrived.acquire)
        await in_thread(writer.join)
    assert file.sizes[0] == 2


async def test_nobody_is_told_before_the_sync_is_over(log: Path) -> None:
    file = GatedFile(log)
    writer = await start(log, file)
    with anyio.fail_after(30):
        commit = writer.submit(Job(b"a\n"))
        await in_thread(file.arrived.acquire)
        assert log.read_bytes() == b"a\n"
        assert not commit.is_done
        file.gate.release(10)
        await commit.wait()
        await in_thread(writer.join)


async def test_normal_durability_syncs_at_a_flush_and_at_the_close_only(log: Path) -> None:
    file = GatedFile(log)
    file.gate.release(10)
    writer = await start(log, file, "normal")
    with anyio.fail_after(30):
        for _ in range(5):
            await writer.submit(Job(b"a\n")).wait()
        assert file.sizes == []
        await writer.submit(Job(b"", must_sync=True)).wait()
        assert file.sizes == [10]
        await writer.submit(Job(b"a\n")).wait()
        await in_thread(writer.join)
    assert file.sizes == [10, 12]


async def test_a_blob_is_there_before_the_line_that_names_it(log: Path) -> None:
    file = GatedFile(log)
    writer = await start(log, file)
    data = b"long" * 30_000
    blobs = FileBlobStore(log.parent / "b")
    with anyio.fail_after(30):
        commit = writer.submit(Job(b"line\n", (Spill("", data),)))
        await in_thread(file.arrived.acquire)
        (blob,) = (log.parent / "b").iterdir()
        assert await blobs.get(blob.name) == data
        file.gate.release(10)
        await commit.wait()
        await in_thread(writer.join)


async def expect_poison(commit: Commit, text: str) -> None:
    with pytest.raises(StorePoisoned, match=text) as caught:
        await commit.wait()
    assert caught.value.next_step


async def test_a_full_disk_poisons_every_waiting_and_every_later_commit(log: Path) -> None:
    full = LogFile(os.open("/dev/full", os.O_RDWR | os.O_APPEND), "session.jsonl")
    writer = await start(log, full)
    with anyio.fail_after(30):
        first = writer.submit(Job(b"a\n"))
        second = writer.submit(Job(b"b\n"))
        await expect_poison(first, "No space left on device .ENOSPC.")
        await expect_poison(second, "ENOSPC")
        await expect_poison(writer.submit(Job(b"c\n")), "ENOSPC")
        await in_thread(writer.join)
    assert writer.failure is not None


async def test_a_sync_that_fails_poisons_although_the_write_went_well(log: Path) -> None:
    reading, writing = os.pipe()
    writer = await start(log, LogFile(writing, "session.jsonl"))
    with anyio.fail_after(30):
        await expect_poison(writer.submit(Job(b"a\n")), "EINVAL")
        await expect_poison(writer.submit(Job(b"b\n")), "EINVAL")
        await in_thread(writer.join)
    # Nothing was written after the failure.
    assert os.read(reading, 100) == b"a\n"
    os.close(reading)


class HalfWritingFile(LogFile):
    """A disk that takes half of a batch and then fails, as at the end of its space."""

    def append(self, data: bytes) -> None:
        super().append(data[: len(data) // 2])
        raise OSError(28, "No space left on device")


async def test_half_a_record_is_taken_back(log: Path) -> None:
    log.write_bytes(b"good\n")
    writer = await start(log, HalfWritingFile(os.open(log, os.O_RDWR | os.O_APPEND), log.name))
    with anyio.fail_after(30):
        await expect_poison(writer.submit(Job(b"half of this\n")), "ENOSPC")
        await in_thread(writer.join)
    assert log.read_bytes() == b"good\n"


async def test_a_blob_that_cannot_be_written_poisons_before_the_line(log: Path) -> None:
    (log.parent / "b").write_bytes(b"a file where the folder should be")
    file = LogFile(os.open(log, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600), log.name)
    writer = await start(log, file)
    with anyio.fail_after(30):
        await expect_poison(writer.submit(Job(b"a\n", (Spill("", b"x"),))), "ENOTDIR")
        await in_thread(writer.join)
    assert log.read_bytes() == b""


class BrokenFile(LogFile):
    def append(self, data: bytes) -> None:
        raise ZeroDivisionError


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
async def test_a_fault_of_the_thread_leaves_nobody_waiting(log: Path) -> None:
    file = BrokenFile(os.open(log, os.O_RDWR | os.O_CREAT, 0o600), log.name)
    writer = await start(log, file)
    with anyio.fail_after(30):
        await expect_poison(writer.submit(Job(b"a\n")), "fault")
        assert writer.failure is not None
        await in_thread(writer.join)
