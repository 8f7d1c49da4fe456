from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shard_jupyter.core.text.diff_hunks import (
    MAX_DIFFLIB_LINES,
    NO_NEWLINE,
    describe_change,
    hunks_between,
)
from shard_jupyter.core.text.text_lines import split_keeping_ends
from shard_jupyter.types.render_descriptors import Hunk
from tests.tool_rig import make_rig

pytestmark = pytest.mark.proves("A05", "A08")


def apply(old: str, hunks: tuple[Hunk, ...]) -> str:
    """Patch by the numbers in the hunks, checking every context line."""
    lines = split_keeping_ends(old)
    result: list[str] = []
    at = 0
    for hunk in hunks:
        start = hunk.old_start - 1 if hunk.old_lines else hunk.old_start
        result += lines[at:start]
        new_start = hunk.new_start - 1 if hunk.new_lines else hunk.new_start
        assert len(result) == new_start
        at = start
        used = added = 0
        for index, line in enumerate(hunk.lines):
            if line == NO_NEWLINE:
                continue
            bare = index + 1 < len(hunk.lines) and hunk.lines[index + 1] == NO_NEWLINE
            text = line[1:] + ("" if bare else "\n")
            if line[0] in " -":
                assert lines[at] == text
                at += 1
                used += 1
            if line[0] in " +":
                result.append(text)
                added += 1
        assert (used, added) == (hunk.old_lines, hunk.new_lines)
    return "".join(result + lines[at:])


TEXTS = st.text(alphabet="ab\n\r\f", max_size=40)


@given(TEXTS, TEXTS)
def test_applying_the_hunks_gives_the_new_text(old, new):
    assert apply(old, hunks_between(old, new)) == new


@given(st.lists(st.integers(0, 3), max_size=60), st.lists(st.integers(0, 60), max_size=4))
def test_distant_changes_get_hunks_of_their_own(numbers, places):
    old = [f"line {n}\n" for n in numbers]
    new = list(old)
    for place in places:
        if place < len(new):
            new[place] = "changed\n"
    hunks = hunks_between("".join(old), "".join(new))
    assert apply("".join(old), hunks) == "".join(new)


def test_missing_final_newline_is_marked():
    (hunk,) = hunks_between("a\nb", "a\nc\n")
    assert hunk.lines == (" a", "-b", NO_NEWLINE, "+c")
    (hunk,) = hunks_between("", "x")
    assert (hunk.old_start, hunk.old_lines, hunk.new_start, hunk.new_lines) == (0, 0, 1, 1)


@pytest.mark.proves("H4e.54")
def test_form_feed_is_no_line_end():
    (hunk,) = hunks_between("a\fb\u2028c\nd\n", "a\fb\u2028c\nD\n")
    assert hunk.lines == (" a\fb\u2028c", "-d", "+D")


def test_change_of_line_ends_is_visible():
    (hunk,) = hunks_between("a\n", "a\r\n")
    assert hunk.lines == ("-a", "+a\r")


def test_equal_texts_have_no_hunks():
    assert hunks_between("a\n", "a\n") == ()


def long_texts() -> tuple[str, str]:
    chance = random.Random(7)
    old = [f"{chance.randrange(1000)}\f x" for _ in range(MAX_DIFFLIB_LINES * 2)]
    new = [line + "!" if index % 997 == 0 else line for index, line in enumerate(old)]
    new[0], new[-1] = "first", "last"
    return "\n".join(old), "\n".join(new) + "\n"


async def test_long_change_is_left_to_git_and_still_exact(tmp_path):
    rig = make_rig(tmp_path)
    old, new = long_texts()
    diff = await describe_change("f", old, new, rig.context)
    assert diff.cut_lines == 0
    assert diff.added == diff.removed == 12
    assert apply(old, diff.hunks) == new
    assert list(rig.context.scratch.iterdir()) == []


async def test_repository_configuration_runs_no_program_for_a_diff(tmp_path):
    rig = make_rig(tmp_path)
    trap = tmp_path / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\n", encoding="utf-8")
    trap.chmod(0o755)
    folder = rig.context.scratch
    await rig.call("bash", command=f"cd {folder} && git init -q . && git config diff.external {trap}"
                   f" && git config core.fsmonitor {trap} && echo '* diff=x' > .gitattributes"
                   f" && git config diff.x.textconv {trap} && git config diff.x.command {trap}")  # fmt: skip
    await describe_change("f", *long_texts(), rig.context)
    assert not (tmp_path / "sprung").exists()


async def test_long_change_without_git_is_one_exact_hunk(tmp_path):
    rig = make_rig(tmp_path, environment={"PATH": str(tmp_path)})
    old, new = (f"{text}\n" * 6000 for text in ("a", "b"))
    diff = await describe_change("f", old, new, rig.context)
    assert (diff.added, diff.removed) == (6000, 6000)
    assert diff.cut_lines == 10_000
    assert sum(len(hunk.lines) for hunk in diff.hunks) == 2000


@pytest.mark.proves("H4e.55")
async def test_line_as_long_as_a_file_is_cut(tmp_path):
    diff = await describe_change("f", "x" * 3_000_000, "y", make_rig(tmp_path).context)
    assert sum(len(line) for hunk in diff.hunks for line in hunk.lines) < 5000
