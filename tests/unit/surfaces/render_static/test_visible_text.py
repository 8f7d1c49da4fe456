"""Nothing that a terminal obeys or a reader cannot see passes."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shard_jupyter.surfaces.render_static.visible_text import make_visible, make_visible_line

pytestmark = pytest.mark.proves("B12", "T73")

# Signs of category Cf that have a shape: they belong to how these scripts are written.
SHAPED = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}


def test_every_control_and_invisible_character_is_marked() -> None:
    passed = {
        code
        for code in range(sys.maxunicode + 1)
        if unicodedata.category(chr(code)) in ("Cc", "Cf", "Cs", "Zl", "Zp")
        and make_visible(chr(code)) == chr(code)
    }
    assert passed == SHAPED | {0x09, 0x0A}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2K\x1b]52;c;x\x07", "⟨U+001B⟩[2K⟨U+001B⟩]52;c;x⟨U+0007⟩"),
        ("ls\rrm x", "ls⟨U+000D⟩rm x"),
        ("a\u202eb", "a⟨U+202E⟩b"),
        ("\u2066x\u2069", "⟨U+2066⟩x⟨U+2069⟩"),
        ("pay\u200bpal", "pay⟨U+200B⟩pal"),
        ("\x9b31m", "⟨U+009B⟩31m"),
        ("\U000e0041\U000e0042", "⟨U+E0041⟩⟨U+E0042⟩"),
        ("\ud83d", "⟨U+D83D⟩"),
        ("\ufeffx\u3164", "⟨U+FEFF⟩x⟨U+3164⟩"),
        ("line\u2028line", "line⟨U+2028⟩line"),
    ],
)
def test_known_tricks_are_shown_as_what_they_are(text: str, shown: str) -> None:
    assert make_visible(text) == shown


@pytest.mark.parametrize(
    "text", ["", "a\tb\nc", "žluťoučký", "日本語", "שלום", "مرحبا", "❤️ 🎉", "e\u0301", "⟨U+202E⟩"]
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert make_visible(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("❤️ ‼️ 1️⃣ ©️", "❤️ ‼️ 1️⃣ ©️"),
        ("\ufe0f", "\ufe0f"),  # the rest of an emoji that came in two pieces
        ("a\ufe0f\ufe0e", "a⟨U+FE0F⟩⟨U+FE0E⟩"),
        ("❤️\ufe0f", "❤️⟨U+FE0F⟩"),
        ("1\ufe0f2", "1⟨U+FE0F⟩2"),
    ],
)
def test_a_selector_stays_only_where_it_is_of_an_emoji(text: str, shown: str) -> None:
    assert make_visible(text) == shown


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_the_result_can_be_written_and_is_marked_once(text: str) -> None:
    shown = make_visible(text)
    shown.encode("utf-8")
    assert make_visible(shown) == shown


def test_a_label_stays_on_its_line() -> None:
    assert make_visible_line("a\nb\tc\r") == "a⏎b c⟨U+000D⟩"
