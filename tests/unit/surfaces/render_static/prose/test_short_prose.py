"""Long prose keeps its start and its end, and never an open fence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shard_jupyter.surfaces.render_static.prose.safe_markdown import split_blocks
from shard_jupyter.surfaces.render_static.prose.short_prose import shorten_prose

pytestmark = pytest.mark.proves("A08")


def test_whole_blocks_are_kept_from_both_ends() -> None:
    text = "\n\n".join(f"Paragraph {number:03}." for number in range(100))
    short = shorten_prose(text, 200)
    blocks = short.split("\n\n")
    assert blocks[0] == "Paragraph 000."
    assert blocks[-1] == "Paragraph 099."
    assert "(… 1,232 characters are left out here …)" in blocks
    assert len(short) < 300


def test_a_long_code_block_is_cut_inside_its_fence() -> None:
    code = "\n".join(f"line {number}" for number in range(1000))
    short = shorten_prose(f"Look:\n\n```py\n{code}\n```\n\nDone.", 600)
    assert short.startswith("Look:")
    assert short.endswith("Done.")
    assert "left out" in short


@given(
    st.lists(st.sampled_from(["word " * 9, "```py\na\n\nb\n```", "\n\n", "- item\n", "`" * 5])),
    st.integers(50, 400),
)
def test_a_cut_is_never_inside_a_fence(parts: list[str], limit: int) -> None:
    text = "\n".join(parts)
    whole = {block.text for block in split_blocks(text) if block.info == "py"}
    short = shorten_prose(text, limit)
    assert len(short) <= len(text) + 100
    kept = {block.text for block in split_blocks(short) if block.info == "py"}
    assert all(block in whole or "left out" in block for block in kept)
