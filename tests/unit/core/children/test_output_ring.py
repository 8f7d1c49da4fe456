from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shard_jupyter.core.children.output_ring import OutputRing

pytestmark = pytest.mark.proves("A05", "H4f.60")


@given(
    chunks=st.lists(st.binary(max_size=40), max_size=40),
    head=st.integers(0, 30),
    tail=st.integers(0, 30),
)
def test_head_tail_and_dropped_are_the_whole_stream(chunks, head, tail):
    ring = OutputRing(head, tail)
    for chunk in chunks:
        ring.feed(chunk)
    whole = b"".join(chunks)
    assert ring.total_bytes == len(whole)
    assert ring.head == whole[:head]
    rest = whole[head:]
    assert ring.tail == (rest[-tail:] if tail else b"")
    assert len(ring.head) + ring.dropped_bytes + len(ring.tail) == len(whole)
    if len(whole) <= head + tail:
        assert ring.head + ring.tail == whole


def test_memory_stays_bounded_for_single_bytes():
    ring = OutputRing(10, 100)
    for _ in range(10_000):
        ring.feed(b"x")
        assert len(ring._tail) <= 200
    assert ring.dropped_bytes == 10_000 - 110
