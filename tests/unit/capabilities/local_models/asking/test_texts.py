"""What is shown of outputs and answers, and when a model repeats itself."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shard_jupyter.capabilities.local_models.asking.prompt_count import (
    count_chars,
    find_cut,
    least_tokens,
)
from shard_jupyter.capabilities.local_models.asking.shown_output import (
    MOST_BYTES,
    MOST_LINES,
    fence,
    show_step,
)
from shard_jupyter.capabilities.local_models.asking.situation import Step
from shard_jupyter.capabilities.local_models.replies.answer_writer import AnswerWriter
from shard_jupyter.capabilities.local_models.replies.loops import SENTENCE_PERIOD, is_looping

pytestmark = pytest.mark.proves("C10")
WORDS = st.text("ab .!?\n,1é", max_size=60)
PIECES = st.lists(WORDS, max_size=8)


@given(st.text("`ab\n", max_size=300), st.sampled_from(["start", "end"]))
def test_nothing_in_an_output_closes_its_fence(text: str, keep: str) -> None:
    block = fence(text, keep=keep)  # type: ignore[arg-type]
    if not block:
        assert not text.strip("\n")
        return
    ticks = re.match("`+", block)
    assert ticks
    body = block.split("\n")[1:]
    end = body.index(ticks[0])
    assert all(ticks[0] not in line for line in body[:end])
    assert len(body[end + 1 :]) <= 1


@given(st.lists(st.text("xé🙂", max_size=300), max_size=60))
def test_an_output_is_shown_in_few_lines(lines: list[str]) -> None:
    for keep in ("start", "end"):
        block = fence("\n".join(lines), keep=keep)  # type: ignore[arg-type]
        assert len(block.split("\n")) <= MOST_LINES + 3
        assert len(block.encode()) <= MOST_BYTES + 80
        block.encode("utf-8")


def test_what_was_left_out_is_said() -> None:
    text = "\n".join(str(number) for number in range(30))
    assert fence(text, keep="start").endswith("\n19\n```\n(first 20 of 30 lines)")
    assert fence(text, keep="end").startswith("```\n10\n")
    assert fence(text, keep="end").endswith("(last 20 of 30 lines)")


def test_one_long_line_is_cut_and_marked() -> None:
    shown = fence("x" * 5_000, keep="start")
    assert shown == f"```\n{'x' * MOST_BYTES}…\n```"


@pytest.mark.parametrize(
    ("step", "shown"),
    [
        (Step("read", {}, "one", "ok"), "```\none\n```"),
        (Step("write", {}, "Created a", "ok"), ""),
        (Step("edit", {}, "Changed a", "ok"), ""),
        (Step("read", {}, "", "ok"), ""),
        (Step("bash", {}, "(no output)", "ok"), "(no output)"),
        (Step("write", {}, "No.", "failed"), "`write` failed:\n```\nNo.\n```"),
        (Step("bash", {}, "", "failed"), "`bash` failed."),
    ],
)
def test_only_tools_that_show_something_are_shown(step: Step, shown: str) -> None:
    assert show_step(step) == shown


@given(PIECES, st.booleans(), st.booleans())
def test_what_was_shown_is_never_taken_back(
    pieces: list[str], one_sentence: bool, is_whole: bool
) -> None:
    writer = AnswerWriter(one_sentence=one_sentence)
    shown = ""
    for piece in pieces:
        shown += writer.add(piece)
        assert writer.text == shown
    shown += writer.finish(is_whole=is_whole)
    assert writer.text == shown
    text = "".join(pieces)
    assert shown == shown.strip() or one_sentence
    assert text.strip().startswith(shown.removesuffix(" …").rstrip())
    if is_whole and not one_sentence:
        assert shown == text.strip()


@given(st.lists(st.integers(1, 5), min_size=1, max_size=30))
def test_one_sentence_is_found_however_it_is_cut(sizes: list[int]) -> None:
    text = 'It holds 1.5 kB, e.g. a "b.c". And more. And so on.'
    writer = AnswerWriter(one_sentence=True)
    shown, place = "", 0
    while place < len(text):
        size = sizes[place % len(sizes)]
        shown += writer.add(text[place : place + size])
        place += size
    assert shown + writer.finish(is_whole=True) in ("It holds 1.5 kB, e.g.", text[:31])


@pytest.mark.parametrize(
    "text",
    ["ls" + " sales.csv" * 20, "0" * 100, "=" * 200, "ab " * 40, "so on and " * 12],
)
def test_a_loop_is_seen(text: str) -> None:
    assert is_looping(text)


@pytest.mark.parametrize(
    "text",
    ["", "0" * 60, "=" * 100, "\n".join(f"line {n} of many" for n in range(40)), "word " * 10],
)
def test_what_is_no_loop_is_let_be(text: str) -> None:
    assert not is_looping(text)


@pytest.mark.parametrize("times", [3, 4])
def test_a_sentence_over_and_over_is_a_loop_in_an_answer_but_no_line_of_a_file(times: int) -> None:
    text = "It begins. " + "It is a guide to the world of programming. " * times
    assert is_looping(text, longest=SENTENCE_PERIOD) is (times == 4)
    assert not is_looping(text)


def test_a_word_is_at_least_a_token() -> None:
    assert least_tokens("one two  three\n" * 10) == 27
    assert find_cut(27, 27) == find_cut(27, None) == ""
    assert "only 26 tokens of a prompt of at least 27" in find_cut(27, 26)


@given(st.text(max_size=300), st.integers(0, 90))
def test_a_text_is_cut_where_its_tokens_are_used_up(text: str, tokens: int) -> None:
    kept = count_chars(text, tokens)
    assert 0 <= kept <= len(text)
    assert count_chars(text[:kept], tokens) == kept
    assert kept <= 3 * tokens
    assert kept == len(text) or count_chars(text, tokens + 6) > kept


@pytest.mark.parametrize(
    ("text", "chars"), [("word " * 400, 300), ("0123456789" * 40, 100), ("漢字" * 200, 50)]
)
def test_digits_and_other_scripts_make_more_tokens_than_words(text: str, chars: int) -> None:
    assert count_chars(text, 100) == chars
