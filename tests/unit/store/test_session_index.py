from __future__ import annotations

from pathlib import Path

import pytest

from shard_jupyter.errors import SessionNotFound, UsageError
from shard_jupyter.store import session_summary
from shard_jupyter.store.blobs import FileBlobStore
from shard_jupyter.store.entry_codec import entry_id
from shard_jupyter.store.session_index import fork_session, list_sessions, session_path
from shard_jupyter.store.session_log import SessionLog, read_session
from shard_jupyter.store.session_summary import SessionSummary, summary_path
from shard_jupyter.store.text_spill import read_full_text
from shard_jupyter.types.content import TextBlock
from shard_jupyter.types.wire_model import Unknown
from tests.entry_builders import assistant, header, lines_of, make_log, result, user

pytestmark = pytest.mark.proves("A11")


async def one(sessions: Path) -> SessionSummary:
    (summary,) = await list_sessions(sessions)
    return summary


async def test_no_folder_is_no_sessions(tmp_path: Path) -> None:
    assert await list_sessions(tmp_path / "sessions") == ()


async def test_a_session_is_shown_by_its_header_and_first_prompt(tmp_path: Path) -> None:
    path = await make_log(
        tmp_path,
        user("e1", None, "  fix the build\nplease"),
        assistant("e2", "e1", calls=("c1",)),
        result("e3", "e2", "c1"),
        assistant("e4", "e3", "done"),
    )
    for _ in range(2):
        summary = await one(tmp_path)
        assert summary.session_id == "session-1"
        assert summary.path == str(path)
        assert (summary.agent_id, summary.cwd) == ("agent-1", "/project")
        assert summary.first_prompt == "fix the build"
        assert summary.message_count == 3
        assert summary.size_bytes == path.stat().st_size
        assert summary.note == ""
        # The second look goes without the cache that the close left.
        summary_path(path).unlink(missing_ok=True)


async def test_the_newest_activity_comes_first_whatever_the_zone(tmp_path: Path) -> None:
    stamps = {
        "a": "2026-03-01T12:00:00Z",
        "b": "2026-03-01T13:30:00+02:00",
        "c": "2026-03-01T12:00:01.5Z",
        "d": "not a time",
    }
    for name, stamp in stamps.items():
        await make_log(tmp_path, user("e1", None, timestamp=stamp), session_id=name)
    assert [each.session_id for each in await list_sessions(tmp_path)] == ["c", "a", "b", "d"]


async def test_a_long_log_is_not_read_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_summary, "WINDOW", 5000)
    entries = [user("e0", None, "first")]
    entries += [user(f"e{n}", f"e{n - 1}", "x" * 900) for n in range(1, 50)]
    entries.append(user("last", "e49", timestamp="2026-04-01T00:00:00Z"))
    path = await make_log(tmp_path, *entries)
    assert (await one(tmp_path)).message_count == 51
    # Damage between the windows: not seen, because nothing reads it.
    data = bytearray(path.read_bytes())
    data[20_000:20_100] = b"\0" * 100
    path.write_bytes(data + lines_of(user("more", "last", timestamp="2026-04-02T00:00:00Z")))
    summary = await one(tmp_path)
    assert summary.last_activity == "2026-04-02T00:00:00Z"
    assert (summary.first_prompt, summary.note) == ("first", "")
    # The cache of the close counts on; without it the number is unknown.
    assert summary.message_count == 52
    summary_path(path).unlink()
    assert (await one(tmp_path)).message_count is None


@pytest.mark.proves("H4b.18")
async def test_list_and_conversation_agree_on_a_damaged_log(tmp_path: Path) -> None:
    path = await make_log(tmp_path, user("e1", None, "first"))
    with path.open("ab") as file:
        file.write(b"\0" * 300 + b"\n" + lines_of(user("e2", "e1"), user("e3", "e2")) + b'{"torn')
    summary = await one(tmp_path)
    entries, report = await read_session(path)
    assert summary.message_count == len(entries) - 1 == 3
    assert not report.is_clean
    assert "damaged" in summary.note


async def test_what_cannot_be_read_is_listed_and_what_is_no_session_is_not(
    tmp_path: Path,
) -> None:
    (tmp_path / "empty-folder").mkdir()
    (tmp_path / "a-file").write_bytes(b"")
    (tmp_path / "broken" / "session.jsonl").mkdir(parents=True)
    (tmp_path / "headless").mkdir()
    (tmp_path / "headless" / "session.jsonl").write_bytes(lines_of(user("e1", None)))
    found = {each.session_id: each for each in await list_sessions(tmp_path)}
    assert set(found) == {"broken", "headless"}
    assert "cannot be read" in found["broken"].note
    assert "header" in found["headless"].note
    assert found["headless"].message_count == 1


async def test_a_damaged_cache_is_no_obstacle(tmp_path: Path) -> None:
    path = await make_log(tmp_path, user("e1", None))
    summary_path(path).write_bytes(b"\0\0")
    assert (await one(tmp_path)).message_count == 1


@pytest.mark.parametrize("name", ["", "..", "a/b", "/etc", "a\n", "x" * 65])
def test_a_session_id_never_leaves_the_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError):
        session_path(tmp_path, name)
    assert session_path(tmp_path, "ok-1") == tmp_path / "ok-1" / "session.jsonl"


def ids(log: SessionLog) -> list[str]:
    return [entry_id(entry) for entry in log.entries]


async def test_a_fork_has_the_active_branch_and_leaves_the_source_alone(tmp_path: Path) -> None:
    source = await make_log(
        tmp_path, user("e1", None), user("e2", "e1"), user("x", "e1"), user("e3", "x")
    )
    before = {path: path.read_bytes() for path in source.parent.iterdir()}
    target = session_path(tmp_path, "fork")
    log = await fork_session(source, target, header("fork", id="header-2"))
    assert ids(log) == ["header-2", "e1", "x", "e3"]
    await log.append(user("e4", log.leaf_id)).wait()
    await log.aclose()
    assert {path: path.read_bytes() for path in source.parent.iterdir()} == before
    assert (await read_session(target))[1].is_clean
    assert (await read_session(target))[0][0].session_id == "fork"  # type: ignore[union-attr]


async def test_a_fork_can_end_at_any_entry_of_any_branch(tmp_path: Path) -> None:
    source = await make_log(tmp_path, user("e1", None), user("e2", "e1"), user("x", "e1"))
    target = session_path(tmp_path, "fork")
    log = await fork_session(source, target, header("fork"), at_entry_id="e2")
    await log.aclose()
    assert ids(log) == ["header-1", "e1", "e2"]


async def test_a_fork_of_a_session_in_use_works(tmp_path: Path) -> None:
    source = await SessionLog.open(await make_log(tmp_path, user("e1", None)))
    log = await fork_session(source.path, session_path(tmp_path, "fork"), header("fork"))
    await log.aclose()
    await source.append(user("e2", "e1")).wait()
    await source.aclose()
    assert ids(log) == ["header-1", "e1"]


@pytest.mark.proves("H4b.19")
async def test_a_fork_mends_broken_links_in_the_copy_only(tmp_path: Path) -> None:
    folder = tmp_path / "old"
    folder.mkdir()
    newer = Unknown(tag="new", raw={"type": "new", "id": "e4", "parentId": "e3", "x": 1})
    lines = lines_of(header(), user("e1", "header-1"), user("e3", "e2"), newer)
    (folder / "session.jsonl").write_bytes(lines)
    target = session_path(tmp_path, "fork")
    log = await fork_session(folder / "session.jsonl", target, header("fork"))
    await log.aclose()
    assert ids(log) == ["header-1", "e1", "e3", "e4"]
    assert log.report.is_clean
    assert log.entries[3] == newer
    assert (folder / "session.jsonl").read_bytes() == lines


async def test_a_fork_takes_its_blobs_along(tmp_path: Path) -> None:
    source = await SessionLog.create(session_path(tmp_path, "old"), header("old"))
    image = await source.blobs.put(b"picture", "image/png")
    await source.blobs.put(b"of another branch", "image/png")
    entry = user("e1", None).model_copy(update={"content": (image, TextBlock(text="x" * 70_000))})
    await source.append(entry).wait()
    await source.aclose()
    log = await fork_session(source.path, session_path(tmp_path, "fork"), header("fork"))
    await log.aclose()
    for path in source.blobs.folder.iterdir():
        path.unlink()
    assert log.blobs.folder == tmp_path / "fork" / "blobs"
    assert len(list(log.blobs.folder.iterdir())) == 2
    assert await log.blobs.get(image.sha256) == b"picture"
    text = log.entries[1].content[1]  # type: ignore[union-attr]
    assert isinstance(text, TextBlock)
    assert await read_full_text(text, log.blobs) == "x" * 70_000
    assert isinstance(log.blobs, FileBlobStore)


async def test_a_fork_of_nothing_or_onto_something_is_refused(tmp_path: Path) -> None:
    source = await make_log(tmp_path, user("e1", None))
    with pytest.raises(SessionNotFound):
        await fork_session(tmp_path / "no" / "session.jsonl", tmp_path / "t", header())
    with pytest.raises(UsageError, match="no entry gone"):
        await fork_session(source, tmp_path / "t", header(), at_entry_id="gone")
    with pytest.raises(UsageError, match="already"):
        await fork_session(source, source, header())
    assert not (tmp_path / "t").exists()
