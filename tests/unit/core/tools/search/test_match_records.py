from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shard_jupyter.core.tools.search.match_records import (
    MAX_RECORD_BYTES,
    MatchLine,
    MatchReader,
    cut_around,
)

pytestmark = pytest.mark.proves("A05", "H4e.55")

STREAM = b"a.py\x003:5:foo bar\na.py\x004-context\nb\n.py\x001:1:x\nd: binary file matches (x)\nc\x009:2:y\n"


@given(st.lists(st.integers(1, 9), max_size=60))
def test_records_are_the_same_however_they_arrive(sizes):
    reader = MatchReader(limit=10)
    at = 0
    for size in sizes:
        reader.feed(STREAM[at : at + size])
        at += size
    reader.feed(STREAM[at:])
    assert reader.lines == [
        MatchLine("a.py", 3, 5, "foo bar"),
        MatchLine("a.py", 4, None, "context"),
        MatchLine("b\n.py", 1, 1, "x"),
        MatchLine("c", 9, 2, "y"),
    ]
    assert (reader.matches, reader.files) == (3, 3)


def test_more_matches_than_wanted_are_counted_and_not_kept():
    reader = MatchReader(limit=2)
    reader.feed(b"".join(b"f\0%d:1:x\n" % n for n in range(1, 1001)))
    assert (len(reader.lines), reader.matches, reader.files) == (2, 1000, 1)


def test_long_line_is_cut_around_its_match():
    line = b"x" * 1_000_000 + b"needle" + b"y" * 2_000_000
    reader = MatchReader(limit=5)
    record = b"min.json\x001:1000001:" + line + b"\n"
    for at in range(0, len(record), 65_536):
        reader.feed(record[at : at + 65_536])
    (match,) = reader.lines
    assert "needle" in match.text
    assert match.text.startswith("…[999,880 bytes cut]…")
    assert match.text.endswith("…[1,999,646 bytes cut]…")
    assert len(match.text) < 600


def test_line_beyond_every_bound_is_counted():
    reader = MatchReader(limit=5)
    reader.feed(b"f\x001:1:" + b"x" * MAX_RECORD_BYTES)
    reader.feed(b"y" * 1_000_000 + b"\nf\x002:1:next\n")
    assert reader.matches == 2
    assert reader.lines[1].text == "next"
    total = MAX_RECORD_BYTES + 1_000_000
    assert reader.lines[0].text.endswith(f"…[{total - 360:,} bytes cut]…")


@given(st.binary(max_size=2000), st.integers(0, 2000))
def test_cut_text_is_always_text(data, at):
    cut_around(data, at).encode("utf-8")
