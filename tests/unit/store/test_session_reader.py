from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shard_jupyter.errors import SessionDamaged, SessionNotFound
from shard_jupyter.store import session_reader
from shard_jupyter.store.entry_codec import entry_id
from shard_jupyter.store.session_log import SessionLog, read_session
from shard_jupyter.store.session_reader import read_lines, scan_log
from tests.entry_builders import header, lines_of, result, user

pytestmark = pytest.mark.proves("A11")

FOUR = (header(), user("e1", "header-1", "é"), user("e2", "e1", "第二"), user("e3", "e2"))
LINES = [lines_of(entry) for entry in FOUR]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "session.jsonl"


async def ids_of(path: Path) -> list[str]:
    return [entry_id(entry) for entry in (await read_session(path))[0]]


async def append_one(path: Path) -> SessionLog:
    """Open as the program does, append one entry, close; returns the closed log."""
    log = await SessionLog.open(path)
    await log.append(user("new", log.leaf_id)).wait()
    await log.aclose()
    return log


@pytest.mark.proves("H4b.15")
async def test_a_torn_line_goes_to_a_side_file_and_the_next_entry_is_safe(log: Path) -> None:
    torn = LINES[3][:40]
    log.write_bytes(b"".join(LINES[:3]) + torn)
    opened = await append_one(log)
    assert opened.report.side_file == "session.jsonl.torn-1"
    assert (log.parent / opened.report.side_file).read_bytes() == torn
    (finding,) = opened.report.findings
    good = len(b"".join(LINES[:3]))
    assert (finding.kind, finding.start, finding.end) == ("torn_tail", good, good + 40)
    assert await ids_of(log) == ["header-1", "e1", "e2", "new"]
    assert (await read_session(log))[1].is_clean


@pytest.mark.proves("H4b.15")
async def test_a_crash_again_and_again_loses_nothing_that_was_whole(log: Path) -> None:
    log.write_bytes(b"".join(LINES))
    for number in range(1, 4):
        with log.open("ab") as file:
            file.write(b'{"id":"half')
        opened = await SessionLog.open(log)
        assert opened.report.side_file == f"session.jsonl.torn-{number}"
        await opened.append(user(f"n{number}", opened.leaf_id)).wait()
        await opened.aclose()
    assert await ids_of(log) == ["header-1", "e1", "e2", "e3", "n1", "n2", "n3"]


@pytest.mark.proves("H4b.16")
async def test_a_tail_cut_inside_a_character_does_not_stop_the_append(log: Path) -> None:
    cut = LINES[1].index("é".encode()) + 1
    log.write_bytes(LINES[0] + LINES[1][:cut])
    opened = await append_one(log)
    assert [finding.kind for finding in opened.report.findings] == ["torn_tail"]
    assert await ids_of(log) == ["header-1", "new"]


@pytest.mark.proves("H4b.15", "H4b.16")
@pytest.mark.parametrize("cut", range(len(LINES[2]) + 1))
async def test_a_cut_at_any_byte_keeps_every_whole_entry(tmp_path: Path, cut: int) -> None:
    log = tmp_path / "session.jsonl"
    log.write_bytes(LINES[0] + LINES[1] + LINES[2][:cut])
    await append_one(log)
    whole = ["e2"] if cut >= len(LINES[2]) - 1 else []
    assert await ids_of(log) == ["header-1", "e1", *whole, "new"]
    assert (await read_session(log))[1].is_clean


async def test_a_whole_last_entry_without_its_line_end_is_not_lost(log: Path) -> None:
    log.write_bytes(b"".join(LINES)[:-1])
    opened = await append_one(log)
    assert [finding.kind for finding in opened.report.findings] == ["missing_newline"]
    assert opened.report.side_file == ""
    assert await ids_of(log) == ["header-1", "e1", "e2", "e3", "new"]


@pytest.mark.parametrize("zeros", [1, 4096, 3 << 20])
async def test_a_tail_of_zero_bytes_is_moved_away(log: Path, zeros: int) -> None:
    log.write_bytes(b"".join(LINES) + b"\0" * zeros)
    opened = await append_one(log)
    assert [finding.kind for finding in opened.report.findings] == ["torn_tail"]
    assert (log.parent / opened.report.side_file).stat().st_size == zeros
    assert (await read_session(log))[1].is_clean


async def test_an_entry_before_a_tail_of_zero_bytes_is_kept(log: Path) -> None:
    log.write_bytes(b"".join(LINES)[:-1] + b"\0" * 500)
    opened = await append_one(log)
    kinds = {finding.kind for finding in opened.report.findings}
    assert kinds == {"missing_newline", "torn_tail"}
    assert await ids_of(log) == ["header-1", "e1", "e2", "e3", "new"]
    assert (await read_session(log))[1].is_clean


@pytest.mark.proves("H4b.18")
@pytest.mark.parametrize(
    "damage",
    [b"\0" * 300 + b"\n", b"\xff\xfe garbage\n", b"[1]\n", b"\n", b'{"half": \n', b"\0" * 300],
)
async def test_damage_in_the_middle_is_skipped_told_and_left_in_the_file(
    log: Path, damage: bytes
) -> None:
    before, after = b"".join(LINES[:2]), b"".join(LINES[2:])
    log.write_bytes(before + damage + after)
    opened = await append_one(log)
    (finding,) = opened.report.findings
    assert finding.kind == "damaged_line"
    assert finding.start == len(before)
    assert finding.end >= len(before) + len(damage)
    assert opened.report.skipped_lines == 1
    assert log.read_bytes().startswith(before + damage + after)
    assert await ids_of(log) == ["header-1", "e1", "e2", "e3", "new"]


async def test_many_damaged_lines_together_are_one_finding(log: Path) -> None:
    log.write_bytes(LINES[0] + b"garbage\n" * 5000 + LINES[1])
    _, report = await read_session(log)
    (finding,) = report.findings
    assert (finding.start, finding.end) == (len(LINES[0]), len(LINES[0]) + 40_000)
    assert report.skipped_lines == 5000


async def test_a_report_stays_small_however_broken_the_file_is(log: Path) -> None:
    pairs = [user(f"a{number}", "gone") for number in range(700)]
    log.write_bytes(LINES[0] + lines_of(*pairs))
    _, report = await read_session(log)
    assert len(report.findings) == 500
    assert report.left_out == 200


async def test_a_line_over_the_limit_is_damage_and_no_crash(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_reader, "CHUNK", 1000)
    log.write_bytes(LINES[0] + b'{"id":"' + b"x" * 5000 + b'"}\n' + LINES[1])
    descriptor = os.open(log, os.O_RDONLY)
    lines = list(read_lines(descriptor, limit=2000))
    os.close(descriptor)
    assert [line.data for line in lines] == [LINES[0][:-1], None, LINES[1][:-1]]
    assert lines[1].end - lines[1].start == 5009


async def test_the_limit_of_64_mebibytes_is_reported(log: Path) -> None:
    with log.open("wb") as file:
        file.write(LINES[0])
        file.seek((64 << 20) + 10, os.SEEK_CUR)
        file.write(b"\n" + LINES[1])
    entries, report = await read_session(log)
    assert [entry_id(entry) for entry in entries] == ["header-1", "e1"]
    assert [finding.kind for finding in report.findings] == ["oversized_line"]


async def test_the_second_of_two_equal_ids_is_left_out(log: Path) -> None:
    log.write_bytes(b"".join(LINES) + lines_of(user("e1", None, "other")))
    entries, report = await read_session(log)
    assert [entry_id(entry) for entry in entries] == ["header-1", "e1", "e2", "e3"]
    assert entries[1] == FOUR[1]
    assert [finding.kind for finding in report.findings] == ["duplicate_id"]


@pytest.mark.proves("H4b.19")
async def test_a_missing_parent_is_kept_and_told_with_its_place(log: Path) -> None:
    log.write_bytes(LINES[0] + LINES[1] + LINES[3])
    entries, report = await read_session(log)
    assert [entry_id(entry) for entry in entries] == ["header-1", "e1", "e3"]
    (finding,) = report.findings
    assert finding.kind == "missing_parent"
    assert finding.start == len(LINES[0] + LINES[1])
    assert "e2" in finding.message


async def test_reading_changes_nothing_and_takes_no_lock(log: Path) -> None:
    log.write_bytes(b"".join(LINES) + b"torn")
    entries, report = await read_session(log)
    assert len(entries) == 4
    assert [finding.kind for finding in report.findings] == ["torn_tail"]
    assert report.side_file == ""
    assert [path.name for path in log.parent.iterdir()] == ["session.jsonl"]
    assert log.read_bytes().endswith(b"torn")


async def test_a_log_without_a_header_can_be_used(log: Path) -> None:
    log.write_bytes(b"\0" * 10 + b"\n" + LINES[1])
    opened = await append_one(log)
    assert opened.header is None
    assert opened.report.of_kind("missing_header")
    assert await ids_of(log) == ["e1", "new"]


async def test_an_empty_file_can_be_used(log: Path) -> None:
    log.write_bytes(b"")
    opened = await append_one(log)
    assert [finding.kind for finding in opened.report.findings] == ["missing_header"]
    assert await ids_of(log) == ["new"]


async def test_a_second_header_is_told_and_not_used(log: Path) -> None:
    other = header("session-2", id="header-2")
    log.write_bytes(b"".join(LINES) + lines_of(other))
    opened = await SessionLog.open(log)
    await opened.aclose()
    assert opened.header == FOUR[0]
    assert opened.report.of_kind("extra_header")


async def test_a_log_of_a_newer_version_is_read_and_not_written(log: Path) -> None:
    log.write_bytes(lines_of(header(version=2)) + LINES[1])
    entries, report = await read_session(log)
    assert len(entries) == 2
    assert report.of_kind("newer_version")
    with pytest.raises(SessionDamaged) as caught:
        await SessionLog.open(log)
    assert caught.value.code == "newer_version"
    assert caught.value.next_step


async def test_no_file_a_folder_and_a_pipe_are_told_apart(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for read in (SessionLog.open, read_session):
        with pytest.raises(SessionNotFound):
            await read(tmp_path / "none")
        with pytest.raises(SessionDamaged):
            await read(tmp_path / "pipe")
        with pytest.raises(SessionDamaged):
            await read(tmp_path / "folder")
    assert not (tmp_path / "none.lock").exists()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(parts=st.lists(st.sampled_from(LINES[1:]) | st.binary(max_size=30), max_size=8))
def test_any_mixture_of_lines_and_bytes_is_read_and_mended_once(
    tmp_path: Path, parts: list[bytes]
) -> None:
    log = tmp_path / "mixed.jsonl"
    log.write_bytes(LINES[0] + b"".join(parts))
    descriptor = os.open(log, os.O_RDWR | os.O_APPEND)
    first = scan_log(descriptor)
    report = session_reader.mend_tail(descriptor, log, first)
    second = scan_log(descriptor)
    os.close(descriptor)
    assert second.entries == first.entries
    assert second.good_size == second.size
    assert not second.needs_newline
    assert bool(report.side_file) == bool(report.of_kind("torn_tail"))


async def test_results_survive_with_their_texts(log: Path) -> None:
    entry = result("r1", "e1", "call-1", "a\u2028b\x85c\fd")
    log.write_bytes(LINES[0] + LINES[1] + lines_of(entry))
    assert (await read_session(log))[0][2] == entry
