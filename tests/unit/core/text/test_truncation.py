from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shard_jupyter.core.text.truncation import (
    clean_text,
    cut_line,
    decode_head,
    decode_tail,
    fit_lines,
    fit_text,
    size_of,
    strip_escapes,
)

pytestmark = pytest.mark.proves("A05", "H4e.55")


def test_long_line_says_how_much_was_cut():
    cut = cut_line("a" * 3_000_000)
    assert len(cut) < 2000
    assert "…[2,998,200 characters cut]…" in cut
    assert cut_line("short") == "short"


@pytest.mark.proves("H4d.44")
@given(st.text(st.characters(), max_size=50))
def test_clean_text_always_encodes(text):
    clean_text(text + "\ud800\0\udfff").encode("utf-8")


@given(st.text(max_size=30), st.integers(0, 100))
def test_text_cut_anywhere_is_a_part_of_the_text(text, at):
    data = text.encode()
    assert text.startswith(decode_head(data[:at]))
    assert text.endswith(decode_tail(data[at:]))


@given(st.text(max_size=200), st.integers(1, 300))
def test_fitted_text_has_at_most_its_limit_and_a_note(text, limit):
    fitted = fit_text(text, limit)
    assert fitted == text or ("bytes cut …]" in fitted and size_of(fitted) <= limit + 40)


def test_lines_are_fitted_whole():
    assert fit_lines(["abc", "de", "f"], 7) == ["abc", "de"]
    assert fit_lines(["abcdef"], 2) == ["abcdef"]
    assert fit_lines(["é", "é"], 3) == ["é"]
    assert fit_lines([], 5) == []


def test_terminal_sequences_are_removed():
    assert strip_escapes("\x1b[1;31mred\x1b[0m \x1b]8;;http://x\x1b\\link\x1b]8;;\x07 \x1b(B") == (
        "red link "
    )
    assert strip_escapes("a\r\nb\rc") == "a\nb\rc"
