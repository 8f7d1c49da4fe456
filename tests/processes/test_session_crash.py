"""Kill a writer at any moment: what it acknowledged is there, and all that is there is whole."""

from __future__ import annotations

import random
import shutil
import time
from collections import Counter
from pathlib import Path

import anyio
import pytest

from shard_jupyter.core.lineage.active_branch import active_branch
from shard_jupyter.core.lineage.message_window import build_window
from shard_jupyter.store.entry_codec import entry_id
from shard_jupyter.store.session_log import SessionLog, read_session
from shard_jupyter.store.text_spill import blob_hashes
from tests.entry_builders import header, user
from tests.processes.writer_children import writer_child

SESSION_KILLS = 5
DEFAULT_KILLS = 10
MOST_ACKS = {"turns": 60, "heavy": 8}
TAIL_ONLY = {"torn_tail", "missing_newline"}


def kill_one_writer(path: Path, mode: str, seed: str) -> list[int]:
    """Run a writer, kill it after some of its acknowledgements, and return them all."""
    dice = random.Random(seed)
    acked: list[int] = []
    with writer_child(mode, path, seed) as child:
        for _ in range(dice.randint(1, MOST_ACKS[mode])):
            said = child.hear()
            assert said is not None, "the writer ended by itself"
            acked.append(said["acked"])
        # Not a wait for anything: it spreads the kills over all moments of a write.
        time.sleep(dice.random() * (0.004 if mode == "turns" else 0.03))
        child.process.kill()
        acked += [said["acked"] for said in child.hear_all()]
    return acked


async def check_session(path: Path, acked: list[int], seed: str) -> list[str]:
    """Open as the program does and check everything; return the kinds of findings."""
    with anyio.fail_after(60):
        log = await SessionLog.open(path)
        await log.aclose()
    ids = [entry_id(entry) for entry in log.entries[1:]]
    assert ids == [f"e{number}" for number in range(len(ids))], seed
    assert acked == list(range(acked[0], acked[-1] + 1)), seed
    assert acked[-1] < len(ids), f"{seed}: acknowledged and lost"
    kinds = [finding.kind for finding in log.report.findings]
    assert set(kinds) <= TAIL_ONLY, seed
    for sha256 in blob_hashes(log.entries):
        await log.blobs.get(sha256)
    view = active_branch(log.entries)
    assert len(view.entries) == len(ids), seed
    notes = {note.code for note in build_window(view.entries).notes}
    assert notes <= {"interrupted", "uncertain"}, seed
    assert (await read_session(path))[1].is_clean, seed
    return kinds


def kill_many(folder: Path, kills: int) -> Counter[str]:
    found: Counter[str] = Counter()
    for number in range(kills):
        mode = "heavy" if number // SESSION_KILLS % 2 else "turns"
        seed = f"{mode}-{number}-{time.time_ns()}"
        path = folder / f"s{number // SESSION_KILLS}" / "session.jsonl"
        acked = kill_one_writer(path, mode, seed)
        found.update(anyio.run(check_session, path, acked, seed))
        found["acked"] += len(acked)
        if (number + 1) % SESSION_KILLS == 0:
            shutil.rmtree(path.parent)
    return found


@pytest.mark.proves("A11", "H4b.15", "H4b.16", "H4b.21")
@pytest.mark.timeout(300)
def test_nothing_acknowledged_is_lost_when_the_writer_is_killed(tmp_path: Path) -> None:
    found = kill_many(tmp_path, DEFAULT_KILLS)
    assert found["acked"] >= DEFAULT_KILLS


@pytest.mark.proves("A11", "H4b.15", "H4b.16", "H4b.21")
@pytest.mark.crash
@pytest.mark.timeout(3600)
def test_nothing_acknowledged_is_lost_in_many_kills(
    tmp_path: Path, request: pytest.FixtureRequest, thorough: bool
) -> None:
    kills = request.config.getoption("--kills") or (100 if thorough else 0)
    if kills == 0:
        pytest.skip("runs with --thorough or --kills N")
    print(f"\n{kills} kills: {dict(kill_many(tmp_path, kills))}")


@pytest.mark.proves("A11", "H4b.26")
def test_a_session_killed_before_its_first_turn_ended_can_be_used(tmp_path: Path) -> None:
    path = tmp_path / "s" / "session.jsonl"
    with writer_child("turns", path, "seed") as child:
        assert child.hear() == {"acked": 0}
        child.process.kill()
        child.hear_all()

    async def use() -> list[str]:
        log = await SessionLog.open(path)
        assert log.header == header()
        window = build_window(active_branch(log.entries).entries)
        assert window.messages[0].role == "user"
        await log.append(user("next", log.leaf_id, "again")).wait()
        await log.aclose()
        return [entry_id(entry) for entry in (await read_session(path))[0]]

    ids = anyio.run(use)
    assert ids[:2] == ["header-1", "e0"]
    assert ids[-1] == "next"
