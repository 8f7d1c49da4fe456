"""Long texts of an entry go to blobs; the entry keeps head, tail and hash (DESIGN §6).

A text block that was cut has two more fields, `blob_sha256` and `size_bytes`. Its `text` is head,
a mark in words, and tail, so that a reader that knows nothing of blobs still shows something true.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from shard_jupyter.contracts.tool_context import BlobStore
from shard_jupyter.errors import StorageError
from shard_jupyter.store.blobs import hash_bytes
from shard_jupyter.store.surrogates import clean_text
from shard_jupyter.types.content import ImageBlock, TextBlock, ToolResultBlock
from shard_jupyter.types.session_entries import MessageEntry, SessionEntry, ToolResultEntry

TEXT_LIMIT = 65_536
"""Bytes of UTF-8 up to which a text stays in the log."""
HEAD_BYTES = 16_384
TAIL_BYTES = 16_384


@dataclass(frozen=True)
class Spill:
    """A text that must be in the blob store before its entry is in the log."""

    sha256: str
    data: bytes


def spill_large_texts(entry: SessionEntry) -> tuple[SessionEntry, tuple[Spill, ...]]:
    """Cut every text block over `TEXT_LIMIT`; the same entry when there is none. Pure."""
    if not isinstance(entry, MessageEntry | ToolResultEntry):
        return entry, ()
    spills: list[Spill] = []
    content = _cut_blocks(entry.content, spills)
    return (entry.model_copy(update={"content": content}), tuple(spills)) if spills else (entry, ())


def _cut_blocks(blocks: Iterable[Any], spills: list[Spill]) -> tuple[Any, ...]:
    cut: list[Any] = []
    for block in blocks:
        if isinstance(block, TextBlock):
            cut.append(_cut_text(block, spills))
        elif isinstance(block, ToolResultBlock):
            parts = _cut_blocks(block.content, spills)
            cut.append(block.model_copy(update={"content": parts}))
        else:
            cut.append(block)
    return tuple(cut)


def _cut_text(block: TextBlock, spills: list[Spill]) -> TextBlock:
    # No character needs more than four bytes, so a short text need not be encoded to know.
    if len(block.text) * 4 <= TEXT_LIMIT:
        return block
    data = clean_text(block.text).encode()
    if len(data) <= TEXT_LIMIT:
        return block
    spill = Spill(hash_bytes(data), data)
    spills.append(spill)
    # "ignore" drops nothing but the character that the cut went through.
    head = data[:HEAD_BYTES].decode("utf-8", "ignore")
    tail = data[-TAIL_BYTES:].decode("utf-8", "ignore")
    left_out = len(data) - HEAD_BYTES - TAIL_BYTES
    mark = f"\n[… {left_out} of {len(data)} bytes left out, kept as blob {spill.sha256} …]\n"
    update = {
        "text": head + mark + tail,
        "blob_sha256": spill.sha256,
        "size_bytes": len(data),
    }
    return block.model_copy(update=update)


def spilled_hash(block: TextBlock) -> str | None:
    """Return the hash of the whole text; None when the block holds all of it."""
    value = (block.model_extra or {}).get("blob_sha256")
    return value if isinstance(value, str) else None


async def read_full_text(block: TextBlock, blobs: BlobStore) -> str:
    """Return the text as it was before it was cut.

    Raises:
        StorageError: the blob is missing or damaged.
    """
    sha256 = spilled_hash(block)
    if sha256 is None:
        return block.text
    return (await blobs.get(sha256)).decode("utf-8")


def blob_hashes(entries: Iterable[SessionEntry]) -> frozenset[str]:
    """Collect the hashes of every image and every cut text."""
    found: set[str] = set()
    for entry in entries:
        if isinstance(entry, MessageEntry | ToolResultEntry):
            _collect(entry.content, found)
    return frozenset(found)


def _collect(blocks: Iterable[Any], found: set[str]) -> None:
    for block in blocks:
        if isinstance(block, ImageBlock):
            found.add(block.sha256)
        elif isinstance(block, TextBlock):
            found.update(filter(None, [spilled_hash(block)]))
        elif isinstance(block, ToolResultBlock):
            _collect(block.content, found)


async def load_full_texts(
    entries: Iterable[SessionEntry], blobs: BlobStore
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Read the whole texts of messages, by hash, and say which could not be read.

    Results of tools are not read: a model gets their head and tail.
    """
    texts: dict[str, str] = {}
    problems: list[str] = []
    for sha256 in sorted(_message_hashes(entries)):
        try:
            texts[sha256] = (await blobs.get(sha256)).decode("utf-8")
        except (StorageError, UnicodeDecodeError) as error:
            problems.append(f"A long text is shown shortened: {error}")
    return texts, tuple(problems)


def _message_hashes(entries: Iterable[SessionEntry]) -> set[str]:
    found: set[str] = set()
    for entry in entries:
        if isinstance(entry, MessageEntry):
            blocks = (block for block in entry.content if isinstance(block, TextBlock))
            found.update(filter(None, map(spilled_hash, blocks)))
    return found
