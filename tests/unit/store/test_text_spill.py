from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shard_jupyter.errors import StorageError
from shard_jupyter.store.blobs import FileBlobStore
from shard_jupyter.store.session_log import SessionLog, read_session
from shard_jupyter.store.text_spill import (
    TEXT_LIMIT,
    blob_hashes,
    load_full_texts,
    read_full_text,
    spill_large_texts,
    spilled_hash,
)
from shard_jupyter.types.content import ImageBlock, TextBlock, ToolResultBlock
from tests.entry_builders import compaction, header, result, user

pytestmark = pytest.mark.proves("A11")

LONG = "".join(f"line {number} é\n" for number in range(20_000))


@given(st.integers(TEXT_LIMIT - 8, TEXT_LIMIT + 8), st.sampled_from("xé第😀"))
def test_the_limit_counts_bytes_of_utf8(size: int, character: str) -> None:
    count = size // len(character.encode())
    entry = user("e1", None, character * count)
    cut, spills = spill_large_texts(entry)
    assert bool(spills) == (len((character * count).encode()) > TEXT_LIMIT)
    assert (cut == entry) == (not spills)


@given(st.integers(0, 3), st.sampled_from(["é", "第", "😀", "a"]))
def test_head_and_tail_are_whole_characters_of_the_text(shift: int, character: str) -> None:
    text = "x" * shift + character * (TEXT_LIMIT + 1)
    cut, spills = spill_large_texts(user("e1", None, text))
    (block,) = cut.content
    assert isinstance(block, TextBlock)
    head, mark, tail = block.text.split("\n")
    assert text.startswith(head)
    assert text.endswith(tail)
    assert min(len(head.encode()), len(tail.encode())) > 16_000
    assert str(len(text.encode())) in mark
    assert spills[0].data == text.encode()
    assert len(block.text.encode()) < TEXT_LIMIT


def test_a_half_character_in_a_long_text_is_replaced() -> None:
    _, spills = spill_large_texts(user("e1", None, "\ud800" + "x" * TEXT_LIMIT))
    assert spills[0].data.startswith("\ufffd".encode())


async def test_a_long_output_is_cut_in_the_log_and_whole_in_the_blob(tmp_path: Path) -> None:
    path = tmp_path / "s" / "session.jsonl"
    log = await SessionLog.create(path, header())
    await log.append(result("r1", None, "c1", LONG)).wait()
    await log.aclose()
    assert path.stat().st_size < 40_000
    (_, entry), _ = await read_session(path)
    assert entry == log.entries[1]
    (block,) = entry.content  # type: ignore[union-attr]
    assert block.model_extra["size_bytes"] == len(LONG.encode())
    assert await read_full_text(block, log.blobs) == LONG
    assert await read_full_text(TextBlock(text="short"), log.blobs) == "short"
    assert spill_large_texts(entry) == (entry, ())


async def test_a_result_inside_a_message_is_cut_too(tmp_path: Path) -> None:
    inner = ToolResultBlock(call_id="c1", name="bash", content=(TextBlock(text=LONG),))
    entry = user("e1", None).model_copy(update={"content": (inner,)})
    cut, spills = spill_large_texts(entry)
    assert len(spills) == 1
    assert blob_hashes([cut]) == {spills[0].sha256}


async def test_whole_texts_of_messages_are_read_for_the_window(tmp_path: Path) -> None:
    path = tmp_path / "s" / "session.jsonl"
    log = await SessionLog.create(path, header())
    await log.append(user("e1", None, LONG), result("r1", "e1", "c", LONG + "!")).wait()
    await log.aclose()
    sha256 = spilled_hash(log.entries[1].content[0])  # type: ignore[union-attr, arg-type]
    assert sha256 is not None
    assert await load_full_texts(log.entries, log.blobs) == ({sha256: LONG}, ())
    (log.blobs.folder / sha256).write_bytes(b"")
    texts, problems = await load_full_texts(log.entries, log.blobs)
    assert texts == {}
    assert "damaged" in problems[0]
    with pytest.raises(StorageError):
        await read_full_text(log.entries[1].content[0], log.blobs)  # type: ignore[union-attr, arg-type]


@pytest.mark.proves("H4b.24")
async def test_fifty_images_and_twenty_compactions_leave_a_small_log(tmp_path: Path) -> None:
    path = tmp_path / "s" / "session.jsonl"
    log = await SessionLog.create(path, header(), durability="normal")
    images = [bytes([number]) * 200_000 for number in range(5)]
    blocks: list[Any] = []
    for number in range(50):
        image = await log.blobs.put(images[number % 5], "image/png")
        assert isinstance(image, ImageBlock)
        blocks.append(image)
        entry = user(f"e{number}", log.leaf_id)
        log.append(entry.model_copy(update={"content": (TextBlock(text="see"), image)}))
    for number in range(20):
        log.append(compaction(f"k{number}", log.leaf_id, "e40", "summary " * 200))
    await log.flush()
    await log.aclose()
    assert path.stat().st_size < 60_000
    assert sorted(blob.stat().st_size for blob in log.blobs.folder.iterdir()) == [200_000] * 5
    again = await SessionLog.open(path)
    assert again.entries == log.entries
    await again.aclose()
    assert isinstance(log.blobs, FileBlobStore)
