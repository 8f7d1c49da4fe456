"""Several processes and one session; and a disk without room. Real processes, real limits."""

from __future__ import annotations

import os
import signal
from contextlib import ExitStack
from pathlib import Path

import anyio
import pytest

from shard_jupyter.store.entry_codec import entry_id
from shard_jupyter.store.session_log import SessionLog, read_session
from tests.entry_builders import make_log, user
from tests.processes.writer_children import WriterChild, writer_child

pytestmark = pytest.mark.proves("A11")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return anyio.run(make_log, tmp_path, user("e0", None))


def open_at_once(children: list[WriterChild]) -> tuple[list[int], list[str]]:
    """Let all of them open the session; return who got it, and what the others were told."""
    for child in children:
        assert child.hear() is not None
    for child in children:
        child.tell()
    answers = [child.hear() or {} for child in children]
    opened = [answer["opened"] for answer in answers if "opened" in answer]
    busy = [answer["busy"] for answer in answers if "busy" in answer]
    assert len(opened) + len(busy) == len(children)
    return opened, busy


@pytest.mark.proves("H4b.22")
@pytest.mark.parametrize("count", [2, 8])
def test_one_of_several_processes_gets_the_session_and_the_rest_are_told_who(
    path: Path, count: int
) -> None:
    before = path.read_bytes()
    with ExitStack() as stack:
        children = [stack.enter_context(writer_child("race", path)) for _ in range(count)]
        (winner,), busy = open_at_once(children)
        assert len(busy) == count - 1
        assert all(owner.startswith(f"process {winner} ") for owner in busy)
    assert path.read_bytes() == before


@pytest.mark.proves("H4b.22")
def test_a_killed_owner_does_not_keep_the_session(path: Path) -> None:
    for expected in (2, 3):
        with writer_child("race", path) as child:
            child.hear()
            child.tell()
            assert child.hear() == {"opened": child.process.pid}
            child.process.kill()
            child.process.wait()
            generation = anyio.run(open_and_close, path)
        assert generation >= expected


async def open_and_close(path: Path) -> int:
    with anyio.fail_after(20):
        log = await SessionLog.open(path)
        await log.append(user(f"after-{len(log.entries)}", log.leaf_id)).wait()
        await log.aclose()
    return len(log.entries) - 1


def test_a_forked_child_does_not_keep_the_session_of_a_dead_owner(path: Path) -> None:
    with writer_child("fork", path) as child:
        said = {**(child.hear() or {}), **(child.hear() or {})}
        try:
            child.process.kill()
            child.process.wait()
            os.kill(said["child"], 0)
            assert anyio.run(open_and_close, path) == 2
        finally:
            os.kill(said["child"], signal.SIGKILL)


@pytest.mark.parametrize("limit", [10_000, 20_001, 50_002])
def test_a_full_disk_is_a_typed_error_and_the_session_recovers(tmp_path: Path, limit: int) -> None:
    path = tmp_path / "s" / "session.jsonl"
    with writer_child("fill", path, str(limit)) as child:
        said = child.hear_all()
        assert child.process.wait() == 0
    acked = [each["acked"] for each in said if "acked" in each]
    rest = [each for each in said if "acked" not in each]
    error, late, size, reopened = rest
    assert error["error"] == "StorePoisoned"
    assert error["code"] == "store_poisoned"
    assert "File too large (EFBIG)" in error["text"]
    assert late == {"late": "StorePoisoned"}
    # The part of the record that still fitted was taken back.
    assert size["size"] < limit
    assert reopened == {"reopened": len(acked) - 1, "findings": []}
    entries, report = anyio.run(read_session, path)
    assert report.is_clean
    assert [entry_id(entry) for entry in entries[1:]] == [f"e{number}" for number in acked]
    assert acked == list(range(len(acked)))
