from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shard_jupyter.core.tools.search.byte_search import compile_pattern, find_hits, text_of

pytestmark = pytest.mark.proves("A05")

PATTERNS = ["a", "^a", "a$", "^$", "a.b", r"\s", r"[^x]b", r"a\Z", r"\Aa", r"(?=b)", r"\ba", "b*"]


@given(st.text(alphabet="ab \n\f", max_size=40), st.sampled_from(PATTERNS))
def test_each_line_is_judged_by_itself(text, source):
    pattern = compile_pattern(source, literal=False, ignore_case=False)
    lines = text.removesuffix("\n").split("\n") if text else []
    wanted = [
        (number, found.start())
        for number, line in enumerate(lines)
        if (found := re.compile(source, re.MULTILINE).search(line))
    ]
    assert list(find_hits(text, pattern)) == wanted


def test_line_end_of_windows_is_no_part_of_the_line():
    text = text_of(b"foo\r\nfoo bar\r\n")
    assert text is not None
    pattern = compile_pattern("foo$", literal=False, ignore_case=False)
    assert list(find_hits(text, pattern)) == [(0, 0)]


def test_literal_and_case():
    assert compile_pattern("a.B", literal=True, ignore_case=True).search("xA.b")
    assert not compile_pattern("a.b", literal=True, ignore_case=False).search("axb")
    assert compile_pattern("É", literal=False, ignore_case=True).search("é")


@pytest.mark.proves("H4e.45")
def test_bytes_that_are_no_utf8_do_not_stop_a_search():
    text = text_of(b"menu\xe9 x\n")
    assert text is not None
    assert list(find_hits(text, compile_pattern("x", literal=True, ignore_case=False))) == [(0, 6)]


def test_binary_is_skipped_and_utf16_is_read():
    assert text_of(b"a\0b") is None
    assert text_of("\ufeffab\r\n".encode("utf-16-le")) == "ab\n"
    assert text_of(b"\xef\xbb\xbfa") == "a"
