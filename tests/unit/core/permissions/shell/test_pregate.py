from __future__ import annotations

import pytest

from shard_jupyter.core.permissions.shell.pregate import MAX_BYTES, refuse_text

pytestmark = pytest.mark.proves("T49", "A06")


@pytest.mark.parametrize("sign", [chr(n) for n in range(32) if chr(n) not in "\t\n"] + ["\x7f"])
def test_control_characters_are_refused_before_parsing(sign: str) -> None:
    assert f"U+{ord(sign):04X}" in refuse_text(f"ls{sign}rm x")


@pytest.mark.parametrize(
    "sign", ["\x80", "\xa0", "\u200b", "\u202e", "\u2066", "\u0455", "\uff4c", "\U000e0041", "é"]
)
def test_what_is_not_ascii_is_refused_before_parsing(sign: str) -> None:
    assert f"U+{ord(sign):04X}" in refuse_text(f"l{sign}s")


def test_tab_and_newline_are_no_control_characters() -> None:
    assert refuse_text("ls\t-l\npwd") == ""


@pytest.mark.parametrize("text", ["", "  ", "\n\t\n", "# a", "  # a\n#b\n", "\n # x"])
def test_what_runs_nothing_is_refused(text: str) -> None:
    assert refuse_text(text) == "there is nothing in it to run"


def test_size_is_limited_at_the_byte() -> None:
    assert refuse_text("x" * MAX_BYTES) == ""
    assert "longer" in refuse_text("x" * (MAX_BYTES + 1))


@pytest.mark.parametrize("text", ["r\\\nm x", "ls\\", "cat 'a\\\nb'", "# x\\\nrm", "ls \\\\"])
def test_backslash_at_the_end_of_a_line_is_refused(text: str) -> None:
    assert "backslash" in refuse_text(text)
