from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import shard_jupyter
from shard_jupyter.core.text.text_lines import line_number_at, split_keeping_ends, split_lines

pytestmark = pytest.mark.proves("A05", "H4e.54")

ODD = "a\fb\vc\x1cd\x85e\u2028f\u2029g\rh\n"


def test_only_a_line_feed_ends_a_line():
    assert split_lines(ODD + "second") == [ODD[:-1], "second"]
    assert split_keeping_ends(ODD + "second") == [ODD, "second"]


def test_final_line_feed_starts_no_line():
    assert split_lines("a\n") == ["a"]
    assert split_lines("a\n\n") == ["a", ""]
    assert split_lines("") == []
    assert split_keeping_ends("") == []
    assert split_keeping_ends("\n") == ["\n"]


@given(st.text(alphabet="ab\n\r\f\u2028"))
def test_lines_joined_again_are_the_text(text):
    assert "".join(split_keeping_ends(text)) == text
    assert split_lines(text) == [line.removesuffix("\n") for line in split_keeping_ends(text)]


@given(st.text(alphabet="a\n\f", max_size=30), st.data())
def test_line_numbers_agree_with_the_lines(text, data):
    offset = data.draw(st.integers(0, max(len(text) - 1, 0)))
    number = line_number_at(text, offset)
    before = "".join(split_keeping_ends(text)[: number - 1])
    assert len(before) <= offset
    assert "\n" not in text[len(before) : offset]


def test_no_module_splits_lines_in_another_way():
    package = Path(shard_jupyter.__file__).parent
    for module in package.rglob("*.py"):
        assert not re.search(r"\.splitlines\(", module.read_text("utf-8")), module
