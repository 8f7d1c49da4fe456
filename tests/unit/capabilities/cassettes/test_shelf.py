"""One writer a file, for as long as the process lives."""

from __future__ import annotations

import json
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from shard_jupyter.capabilities.cassettes.cassette import parse_cassette
from shard_jupyter.capabilities.cassettes.shelf import CassetteShelf

pytestmark = pytest.mark.proves("E04")


def test_a_file_has_one_writer_however_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "in")
    monkeypatch.chdir(tmp_path)
    shelf = CassetteShelf()
    writer = shelf.take_writer(tmp_path / "in/a")
    for name in ("in/a", "link/a", "in/../in/a", "in/./a"):
        assert shelf.take_writer(Path(name)) is writer
    assert shelf.take_writer(Path("in/b")) is not writer
    assert CassetteShelf().take_writer(tmp_path / "in/a") is not writer


async def test_the_first_use_starts_the_file_and_the_others_go_on(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text("what was there before", encoding="utf-8")
    shelf = CassetteShelf()
    with anyio.fail_after(10):
        for number in range(3):
            writer = await anyio.to_thread.run_sync(shelf.take_writer, file)
            assert number or file.read_bytes() == b"what was there before"
            await writer.add([{"type": "system", "ref": f"r{number % 2}", "text": "x"}])
    cassette = parse_cassette(file.read_bytes(), "a")
    assert list(cassette.systems) == ["r0", "r1"]
    assert file.read_bytes().count(b"\n") == 3


async def test_a_file_that_was_taken_away_is_started_anew(tmp_path: Path) -> None:
    """What it had held is told again, so that it is whole."""
    file = tmp_path / "a.jsonl"
    with anyio.fail_after(10):
        writer = await anyio.to_thread.run_sync(CassetteShelf().take_writer, file)
        await writer.add([{"type": "system", "ref": "r", "text": "x"}])
        first = file.read_bytes()
        file.unlink()
        await writer.add([{"type": "system", "ref": "r", "text": "x"}])
    assert file.read_bytes() == first
    assert [json.loads(line)["type"] for line in first.split(b"\n")[:-1]] == ["cassette", "system"]
