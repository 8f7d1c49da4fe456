from __future__ import annotations

import os
from pathlib import Path

import psutil
import pytest

from shard_jupyter.errors import WriterBusy, WriterFenced
from shard_jupyter.store.writer_lock import (
    OwnerRecord,
    WriterLock,
    lock_path,
    owner_path,
    read_owner,
)

pytestmark = pytest.mark.proves("A11", "H4b.22")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "session.jsonl"


def take_over(log: Path) -> WriterLock:
    """Get the lock although somebody holds it, as when a lock file was removed by hand."""
    lock_path(log).unlink()
    return WriterLock.acquire(log)


def test_a_second_handle_is_refused_and_told_who_holds_it(log: Path) -> None:
    held = WriterLock.acquire(log)
    with pytest.raises(WriterBusy) as caught:
        WriterLock.acquire(log)
    assert str(os.getpid()) in caught.value.owner
    assert caught.value.next_step
    held.release()


def test_the_record_names_pid_and_start_of_the_process(log: Path) -> None:
    held = WriterLock.acquire(log)
    owner = read_owner(log)
    assert owner is not None
    assert (owner.pid, owner.started) == (os.getpid(), psutil.Process().create_time())
    assert owner.is_alive
    held.release()
    after = read_owner(log)
    assert after is not None
    assert not after.is_alive


def test_each_acquisition_gets_a_higher_generation(log: Path) -> None:
    generations = []
    for _ in range(3):
        held = WriterLock.acquire(log)
        generations.append(held.generation)
        held.check()
        held.release()
        held.release()
    assert generations == [1, 2, 3]


def test_a_writer_that_was_taken_over_is_fenced_for_good(log: Path) -> None:
    stale = WriterLock.acquire(log)
    newer = take_over(log)
    with pytest.raises(WriterFenced, match="generation 2"):
        stale.check()
    stale.release()
    newer.check()
    newer.release()
    with pytest.raises(WriterFenced):
        stale.check()


def test_a_writer_whose_record_is_gone_is_fenced(log: Path) -> None:
    held = WriterLock.acquire(log)
    owner_path(log).unlink()
    with pytest.raises(WriterFenced):
        held.check()
    newer = take_over(log)
    assert newer.generation == held.generation
    with pytest.raises(WriterFenced):
        held.check()
    held.release()
    newer.release()


def test_a_damaged_record_does_not_keep_anybody_out(log: Path) -> None:
    owner_path(log).write_bytes(b"\0\0\0")
    held = WriterLock.acquire(log)
    assert held.generation == 1
    owner_path(log).write_bytes(b"{")
    with pytest.raises(WriterBusy) as caught:
        WriterLock.acquire(log)
    assert caught.value.owner == "unknown"
    held.release()


def test_a_reused_pid_does_not_count_as_the_owner() -> None:
    record = OwnerRecord(pid=os.getpid(), started=1.0, generation=1, token="t")
    assert not record.is_alive
    gone = OwnerRecord(pid=2**22 + 1, started=1.0, generation=1, token="t")
    assert not gone.is_alive


def test_lock_and_record_are_private(log: Path) -> None:
    held = WriterLock.acquire(log)
    assert [path(log).stat().st_mode & 0o777 for path in (lock_path, owner_path)] == [0o600] * 2
    held.release()
