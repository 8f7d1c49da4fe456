"""Long prose in little room: whole blocks from its start and its end. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from shard_jupyter.surfaces.render_static.kept_ends import keep_ends
from shard_jupyter.surfaces.render_static.prose.safe_markdown import (
    ProseBlock,
    fence,
    split_blocks,
)

_FAR_TOO_LONG = 20
"""Times the limit: what lies in the middle of that is not even read."""


@lru_cache(maxsize=32)
def shorten_prose(text: str, limit: int) -> str:
    """Keep about `limit` characters of Markdown, a third of them from the start.

    A block that does not fit is cut inside, so that a fence is never left open.
    """
    if len(text) <= limit:
        return text
    blocks = split_blocks(keep_ends(text, _FAR_TOO_LONG * limit))
    head = _take(blocks, limit // 3)
    tail = _take(reversed(blocks[len(head) :]), limit - limit // 3)[::-1]
    left = blocks[len(head) : len(blocks) - len(tail)]
    if not head and left:
        head, left = [_cut(left[0], limit // 3)], left[1:]
    if not tail and left:
        tail, left = [_cut(left[-1], limit // 2)], left[:-1]
    hidden = sum(len(block.text) for block in left)
    gap = [f"(… {hidden:,} characters are left out here …)"] if left else []
    return "\n\n".join([*map(_source_of, head), *gap, *map(_source_of, tail)])


def _source_of(block: ProseBlock) -> str:
    return block.text if block.info is None else fence(block.text, block.info)


def _take(blocks: Iterable[ProseBlock], room: int) -> list[ProseBlock]:
    taken: list[ProseBlock] = []
    for block in blocks:
        room -= len(block.text) + 2
        if room < 0:
            break
        taken.append(block)
    return taken


def _cut(block: ProseBlock, limit: int) -> ProseBlock:
    return ProseBlock(keep_ends(block.text, limit), block.info)
