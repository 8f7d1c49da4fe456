"""The session files of the corpus of bad frames, by id."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from shard_jupyter.core.lineage.active_branch import active_branch
from shard_jupyter.store.entry_codec import entry_id
from shard_jupyter.store.open_report import OpenReport
from shard_jupyter.store.session_log import SessionLog, read_session
from tests.conftest import DATA

pytestmark = pytest.mark.proves("A11")

# The corpus has no headers, and its messages lack fields: said of each file, and not the point.
ALWAYS = {"missing_header", "unfit_entry"}


def frame(own: str) -> bytes:
    for line in (DATA / "bad_frames.jsonl").read_bytes().split(b"\n"):
        row = json.loads(line) if line else {}
        if row.get("id") == own:
            return base64.b64decode(row["b64"])
    raise AssertionError(own)


def kinds(report: OpenReport) -> list[str]:
    return [finding.kind for finding in report.findings if finding.kind not in ALWAYS]


async def open_once(path: Path) -> tuple[list[str], OpenReport]:
    log = await SessionLog.open(path)
    await log.aclose()
    return [entry_id(entry) for entry in log.entries], log.report


@pytest.fixture
def log(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    path = tmp_path / "session.jsonl"
    path.write_bytes(frame(request.param))
    return path


@pytest.mark.proves("fr089")
@pytest.mark.parametrize("log", ["fr089"], indirect=True)
async def test_a_half_written_last_line_is_cut_off_and_noted(log: Path) -> None:
    ids, report = await open_once(log)
    assert ids == ["c1"]
    assert kinds(report) == ["torn_tail"]
    assert log.read_bytes() == frame("fr089").split(b"\n")[0] + b"\n"
    assert (log.parent / report.side_file).read_bytes() == frame("fr089").split(b"\n")[1]


@pytest.mark.proves("fr090")
@pytest.mark.parametrize("log", ["fr090"], indirect=True)
async def test_a_zero_filled_tail_is_cut_off(log: Path) -> None:
    ids, report = await open_once(log)
    assert ids == ["c1"]
    assert kinds(report) == ["torn_tail"]
    assert b"\0" not in log.read_bytes()


@pytest.mark.proves("fr091", "H4b.18")
@pytest.mark.parametrize("log", ["fr091"], indirect=True)
async def test_a_zero_hole_in_the_middle_is_told_and_left_where_it_is(log: Path) -> None:
    first, hole, _, _ = frame("fr091").split(b"\n")
    ids, report = await open_once(log)
    # The record behind the hole is a repetition of the first one.
    assert ids == ["c1"]
    assert kinds(report) == ["damaged_line", "duplicate_id"]
    assert report.findings[1].start == len(first) + 1
    assert report.findings[1].end == len(first) + len(hole) + 2
    assert log.read_bytes() == frame("fr091")


@pytest.mark.proves("fr091", "H4b.18")
@pytest.mark.parametrize("log", ["fr091"], indirect=True)
async def test_a_record_behind_a_zero_hole_is_kept(log: Path) -> None:
    first, hole, last, _ = frame("fr091").split(b"\n")
    log.write_bytes(b"\n".join([first, hole, last.replace(b"c1", b"c3"), b""]))
    assert (await open_once(log))[0] == ["c1", "c3"]


@pytest.mark.proves("fr092")
@pytest.mark.parametrize("log", ["fr092"], indirect=True)
async def test_an_entry_written_twice_counts_once(log: Path) -> None:
    ids, report = await open_once(log)
    assert ids == ["c1"]
    assert kinds(report) == ["duplicate_id"]


@pytest.mark.proves("fr093")
@pytest.mark.parametrize("log", ["fr093"], indirect=True)
async def test_a_gap_in_the_lineage_is_told(log: Path) -> None:
    ids, report = await open_once(log)
    assert ids == ["e2"]
    assert kinds(report) == ["missing_parent"]
    entries, _ = await read_session(log)
    assert [repair.code for repair in active_branch(entries).repairs] == ["missing_parent"]


@pytest.mark.proves("fr094")
@pytest.mark.parametrize("log", ["fr094"], indirect=True)
async def test_a_ring_of_parents_is_told_and_hangs_nobody(log: Path) -> None:
    ids, report = await open_once(log)
    assert ids == ["a", "b"]
    assert kinds(report) == ["parent_cycle"]
    entries, _ = await read_session(log)
    view = active_branch(entries)
    assert [entry_id(entry) for entry in view.entries] == ["a", "b"]
    assert [repair.code for repair in view.repairs] == ["parent_cycle"]


@pytest.mark.proves("fr095")
@pytest.mark.parametrize("log", ["fr095"], indirect=True)
async def test_order_is_that_of_the_file_and_never_that_of_the_clock(log: Path) -> None:
    ids, report = await open_once(log)
    assert ids == ["a", "b"]
    assert kinds(report) == []
