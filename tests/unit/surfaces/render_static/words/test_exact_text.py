"""What is asked can be told from what is shown, and nothing in it passes for something else."""

from __future__ import annotations

import re
import sys
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shard_jupyter.surfaces.render_static.words.exact_text import (
    exact_lines,
    show_exactly,
    show_exactly_on_line,
)
from shard_jupyter.surfaces.render_static.words.wrapped_lines import (
    GOES_ON,
    columns_of,
    wrap_line,
)

pytestmark = pytest.mark.proves("T74", "B12")
ANY_TEXT = st.text(alphabet=st.characters(exclude_categories=()))
TRICKY = st.text(alphabet="ab \t\n⏎⇥⟨⟩U+0029\u202e\u200b\x1b\u00a0\u0430é\u0301\ufe0f")


def read_back(shown: str) -> str:
    """The text that was shown: no two of them give the same."""
    text = shown.replace("⏎\n", "\n").replace("⇥   ", "\t")
    return re.sub(r"⟨U\+([0-9A-F]+)⟩", lambda found: chr(int(found[1], 16)), text)


@given(ANY_TEXT | TRICKY)
@example("x⇥   ")
@example("a \t")
def test_two_different_texts_never_look_the_same(text: str) -> None:
    assert read_back(show_exactly(text)) == text


@given(ANY_TEXT | TRICKY)
def test_nothing_that_is_obeyed_or_unseen_is_left(text: str) -> None:
    for char in show_exactly(text):
        category = unicodedata.category(char)
        assert char == "\n" or category not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"), char
        assert char == " " or category != "Zs"


def test_of_every_character_that_no_glyph_tells_the_number_is_shown() -> None:
    hidden = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"}
    for code in range(sys.maxunicode + 1):
        char = chr(code)
        if unicodedata.category(char) in hidden and char not in " \t\n":
            assert show_exactly(f"a{char}b") == f"a⟨U+{code:04X}⟩b"


def test_of_every_character_that_another_form_makes_ascii_the_number_is_shown() -> None:
    for code in range(0x80, sys.maxunicode + 1):
        plain = unicodedata.normalize("NFKC", chr(code))
        if plain != chr(code) and plain.isascii() and not unicodedata.combining(chr(code)):
            assert show_exactly(f"a{chr(code)}b") == f"a⟨U+{code:04X}⟩b", hex(code)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("cаt x", "c⟨U+0430⟩t x"),
        ("сору", "⟨U+0441⟩⟨U+043E⟩⟨U+0440⟩⟨U+0443⟩"),
        ("echo “; rm -rf ~; echo ”", "echo ⟨U+201C⟩; rm -rf ~; echo ⟨U+201D⟩"),
        ("—dry-run", "⟨U+2014⟩dry-run"),
        ("a\u00a0b", "a⟨U+00A0⟩b"),
        ("cafe\u0301", "cafe⟨U+0301⟩"),
        ("s\u0336ecret", "s⟨U+0336⟩ecret"),
        ("\u037e ls", "⟨U+037E⟩ ls"),
        ("a\u2215b", "a⟨U+2215⟩b"),
        ("⟨U+202E⟩", "⟨U+27E8⟩U+202E⟩"),
        ("a\n  y  allow", "a⏎\n  y  allow"),
        ("ls ", "ls⟨U+0020⟩"),
        ("\x1b[2Kls\r", "⟨U+001B⟩[2Kls⟨U+000D⟩"),
    ],
)
def test_known_tricks_are_shown_as_what_they_are(text: str, shown: str) -> None:
    assert show_exactly(text) == shown


@pytest.mark.parametrize(
    "text",
    ["", "ls -la /tmp", "git commit -m 'Привет, мир'", "echo 日本語 ノート", "café Straße", "🎉",
     "हिन्दी", "שלום", "مرحبا"],
)  # fmt: skip
def test_ordinary_text_of_any_language_is_left_alone(text: str) -> None:
    assert show_exactly(text) == text


def test_a_name_stays_on_its_line() -> None:
    assert show_exactly_on_line("a\nb") == "a⏎b"
    assert exact_lines("a\n\nb") == ["a⏎", "⏎", "b"]


@given(ANY_TEXT | TRICKY, st.integers(24, 60))
@example("x" * 200, 24)
@example(" " * 200, 24)
def test_a_long_line_is_wrapped_and_nothing_of_it_is_lost(text: str, width: int) -> None:
    line = show_exactly_on_line(text * 5)
    first, *more = wrap_line(line, width)
    assert all(row.startswith(GOES_ON) for row in more)
    assert first + "".join(row[len(GOES_ON) :] for row in more) == line
    assert all(columns_of(row) <= width for row in (first, *more))


@given(TRICKY)
def test_a_mark_is_never_cut(text: str) -> None:
    line = show_exactly_on_line(text * 9)
    marks = re.findall(r"⟨U\+[0-9A-F]+⟩", line)
    assert re.findall(r"⟨U\+[0-9A-F]+⟩", "\n".join(wrap_line(line, 24))) == marks
