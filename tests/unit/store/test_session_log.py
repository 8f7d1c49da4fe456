from __future__ import annotations

import itertools
import os
from pathlib import Path

import anyio
import pytest

from shard_jupyter.errors import (
    Bug,
    SessionDamaged,
    StorageError,
    StorePoisoned,
    UsageError,
    WriterBusy,
    WriterFenced,
)
from shard_jupyter.store.entry_codec import entry_id
from shard_jupyter.store.session_log import SessionLog, read_session
from shard_jupyter.store.writer_lock import WriterLock, lock_path
from shard_jupyter.types.session_entries import SessionHeader
from tests.entry_builders import assistant, header, intent, make_log, result, user

pytestmark = pytest.mark.proves("A11")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sessions" / "session-1" / "session.jsonl"


async def stored_ids(path: Path) -> list[str]:
    return [entry_id(entry) for entry in (await read_session(path))[0]]


async def test_a_new_session_is_private_and_has_its_header(path: Path) -> None:
    log = await SessionLog.create(path, header())
    assert await stored_ids(path) == ["header-1"]
    assert log.header == header()
    assert log.leaf_id is None
    modes = [each.stat().st_mode & 0o777 for each in (path, path.parent, path.parent.parent)]
    assert modes == [0o600, 0o700, 0o700]
    await log.aclose()


async def test_a_session_is_never_made_over_another(path: Path) -> None:
    made = await make_log(path.parent.parent, user("e1", None))
    before = made.read_bytes()
    with pytest.raises(UsageError, match="already"):
        await SessionLog.create(path, header("session-2"))
    assert path.read_bytes() == before
    await (await SessionLog.open(path)).aclose()


async def test_what_was_awaited_is_in_the_file_and_the_leaf_follows(path: Path) -> None:
    log = await SessionLog.create(path, header())
    await log.append(user("e1", log.leaf_id)).wait()
    assert await stored_ids(path) == ["header-1", "e1"]
    await log.append(assistant("e2", "e1", "hi"), user("e3", "e2")).wait()
    assert log.leaf_id == "e3"
    assert [entry_id(entry) for entry in log.entries] == ["header-1", "e1", "e2", "e3"]
    assert await stored_ids(path) == ["header-1", "e1", "e2", "e3"]
    await log.aclose()


async def test_the_first_entry_may_name_the_header_as_its_parent(path: Path) -> None:
    log = await SessionLog.create(path, header())
    await log.append(user("e1", "header-1")).wait()
    await log.aclose()
    assert (await read_session(path))[1].is_clean


@pytest.mark.parametrize("durability", ["full", "normal"])
async def test_the_order_of_append_is_the_order_in_the_file(path: Path, durability: str) -> None:
    log = await SessionLog.create(path, header(), durability=durability)  # type: ignore[arg-type]
    names = [f"e{number}" for number in range(300)]
    for parent, own in itertools.pairwise(["header-1", *names]):
        log.append(user(own, parent))
    await log.flush()
    assert await stored_ids(path) == ["header-1", *names]
    await log.aclose()


async def test_a_close_writes_what_nobody_waited_for(path: Path) -> None:
    log = await SessionLog.create(path, header(), durability="normal")
    log.append(user("e1", None))
    await log.aclose()
    await log.aclose()
    assert await stored_ids(path) == ["header-1", "e1"]
    with pytest.raises(StorageError, match="closed"):
        log.append(user("e2", "e1"))
    with pytest.raises(StorageError, match="closed"):
        await log.flush()


async def test_a_close_in_a_cancelled_task_still_lets_go(path: Path) -> None:
    log = await SessionLog.create(path, header())
    log.append(user("e1", None))
    with anyio.CancelScope() as scope:
        scope.cancel()
        await log.aclose()
    again = await SessionLog.open(path)
    assert again.leaf_id == "e1"
    await again.aclose()


async def test_closing_twice_at_once_waits_for_the_same_end(path: Path) -> None:
    log = await SessionLog.create(path, header())
    log.append(user("e1", None))
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(log.aclose)
            group.start_soon(log.aclose)
    assert await stored_ids(path) == ["header-1", "e1"]


async def test_giving_up_a_wait_does_not_undo_the_write(path: Path) -> None:
    log = await SessionLog.create(path, header())
    commit = log.append(user("e1", None))
    with anyio.CancelScope() as scope:
        scope.cancel()
        await commit.wait()
    assert scope.cancelled_caught
    await commit.wait()
    assert commit.is_done
    await log.aclose()
    assert await stored_ids(path) == ["header-1", "e1"]


async def test_any_number_of_tasks_may_wait_for_one_commit(path: Path) -> None:
    log = await SessionLog.create(path, header())
    commit = log.append(user("e1", None))
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            for _ in range(20):
                group.start_soon(commit.wait)
    await log.aclose()


async def test_an_opened_session_goes_on_where_it_ended(path: Path) -> None:
    await make_log(path.parent.parent, user("e1", None), user("e2", "e1"))
    log = await SessionLog.open(path)
    assert (log.leaf_id, log.header, log.report.is_clean) == ("e2", header(), True)
    await log.append(user("e3", "e2")).wait()
    await log.append(user("x2", "e1")).wait()
    assert log.leaf_id == "x2"
    await log.aclose()
    assert await stored_ids(path) == ["header-1", "e1", "e2", "e3", "x2"]


@pytest.mark.proves("H4b.22")
async def test_a_second_opening_is_refused_until_the_first_is_closed(path: Path) -> None:
    first = await SessionLog.create(path, header())
    with pytest.raises(WriterBusy) as caught:
        await SessionLog.open(path)
    assert f"process {os.getpid()} " in caught.value.owner
    await first.aclose()
    second = await SessionLog.open(path)
    await second.aclose()


@pytest.mark.proves("H4b.22")
async def test_a_short_wait_outlasts_a_writer_that_is_closing(path: Path) -> None:
    first = await SessionLog.create(path, header())
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:

            async def take_next() -> None:
                second = await SessionLog.open(path, lock_wait_seconds=15)
                await second.aclose()

            group.start_soon(take_next)
            await anyio.wait_all_tasks_blocked()
            await first.aclose()


@pytest.mark.proves("H4b.22")
async def test_waiting_for_a_lock_can_be_cancelled(path: Path) -> None:
    first = await SessionLog.create(path, header())
    with anyio.move_on_after(0.2) as scope:
        await SessionLog.open(path, lock_wait_seconds=60)
    assert scope.cancelled_caught
    await first.aclose()
    again = await SessionLog.open(path)
    await again.aclose()


@pytest.mark.proves("H4b.23")
async def test_entries_never_land_in_the_session_that_was_open_before(tmp_path: Path) -> None:
    first = await SessionLog.open(await make_log(tmp_path, user("a1", None), session_id="one"))
    second = await SessionLog.open(await make_log(tmp_path, user("b1", None), session_id="two"))
    before = first.path.read_bytes()
    await second.append(user("b2", second.leaf_id)).wait()
    with pytest.raises(Bug, match="parent b2"):
        first.append(user("b3", second.leaf_id))
    with pytest.raises(Bug, match="header"):
        first.append(header("two", id="header-2"))
    await first.aclose()
    await second.aclose()
    assert first.path.read_bytes() == before
    assert await stored_ids(second.path) == ["header-1", "b1", "b2"]


async def test_a_refused_append_leaves_nothing_behind(path: Path) -> None:
    log = await SessionLog.create(path, header())
    with pytest.raises(Bug, match="already"):
        log.append(user("e1", None), user("e1", None))
    with pytest.raises(StorageError, match="cannot be stored"):
        log.append(
            user("e1", None),
            result("e2", "e1", "c").model_copy(update={"details": {"x": object()}}),
        )
    await log.append(user("e1", None)).wait()
    with pytest.raises(Bug, match="already"):
        log.append(user("e1", None))
    await log.aclose()
    assert await stored_ids(path) == ["header-1", "e1"]


@pytest.mark.proves("H4b.21")
async def test_a_message_stands_before_the_results_of_its_calls(path: Path) -> None:
    log = await SessionLog.create(path, header())
    calls = ("c1", "c2", "c3")
    log.append(user("e1", None))
    log.append(assistant("e2", "e1", calls=calls))
    commits = [log.append(result(f"r-{call}", "e2", call)) for call in calls]
    # Whichever of them is waited for, all that was appended before it is on disk.
    await commits[-1].wait()
    assert all(commit.is_done for commit in commits)
    assert await stored_ids(path) == ["header-1", "e1", "e2", "r-c1", "r-c2", "r-c3"]
    await log.aclose()


@pytest.mark.proves("H4b.22")
async def test_a_writer_that_was_taken_over_writes_nothing_more(path: Path) -> None:
    stale = await SessionLog.create(path, header())
    await stale.append(user("e1", None)).wait()
    lock_path(path).unlink()
    newer = await SessionLog.open(path)
    late = stale.append(user("late", "e1"))
    with pytest.raises(WriterFenced):
        await late.wait()
    with pytest.raises(WriterFenced):
        stale.append(user("later", "e1"))
    with pytest.raises(WriterFenced):
        await stale.flush()
    await newer.append(user("e2", "e1")).wait()
    await stale.aclose()
    await newer.append(user("e3", "e2")).wait()
    await newer.aclose()
    assert await stored_ids(path) == ["header-1", "e1", "e2", "e3"]


async def test_a_fence_found_at_the_close_is_raised_once(path: Path) -> None:
    stale = await SessionLog.create(path, header())
    lock_path(path).unlink()
    newer = await anyio.to_thread.run_sync(WriterLock.acquire, path.resolve())
    stale.append(user("e1", None))
    with pytest.raises(WriterFenced):
        await stale.aclose()
    await stale.aclose()
    await anyio.to_thread.run_sync(newer.release)
    assert await stored_ids(path) == ["header-1"]


async def test_a_session_whose_folder_was_removed_is_not_written_into_the_void(
    path: Path,
) -> None:
    log = await SessionLog.create(path, header())
    for each in path.parent.iterdir():
        each.unlink()
    path.parent.rmdir()
    with pytest.raises((WriterFenced, StorePoisoned)):
        await log.append(user("e1", None)).wait()
    await log.aclose()


@pytest.mark.proves("H4b.26")
async def test_a_session_without_a_single_turn_can_be_opened_and_used(path: Path) -> None:
    log = await SessionLog.create(path, header())
    await log.aclose()
    again = await SessionLog.open(path)
    assert again.report.is_clean
    await again.append(user("e1", again.leaf_id)).wait()
    await again.aclose()
    assert await stored_ids(path) == ["header-1", "e1"]


@pytest.mark.proves("H4b.27")
async def test_the_intent_of_a_call_is_on_disk_before_the_call_runs(path: Path) -> None:
    log = await SessionLog.create(path, header())
    log.append(user("e1", None), assistant("e2", "e1", calls=("c1",)))
    await log.append(intent("e3", "e2", "c1")).wait()
    assert await stored_ids(path) == ["header-1", "e1", "e2", "e3"]
    await log.aclose()


async def test_a_folder_that_cannot_be_written_is_a_storage_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StorageError, match="cannot be used"):
        await SessionLog.create(tmp_path / "file" / "s" / "session.jsonl", header())
    assert issubclass(SessionDamaged, StorageError)


async def test_a_fork_may_start_with_entries(path: Path) -> None:
    start = (user("e1", None), user("e2", "e1"))
    log = await SessionLog.create(path, header(), entries=start)
    assert log.leaf_id == "e2"
    assert isinstance(log.entries[0], SessionHeader)
    await log.aclose()
    assert await stored_ids(path) == ["header-1", "e1", "e2"]
