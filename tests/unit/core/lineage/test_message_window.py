from __future__ import annotations

from typing import Any

import pytest

from shard_jupyter.core.lineage.message_window import (
    INTERRUPTED,
    LOST_START,
    UNCERTAIN,
    MessageWindow,
    build_window,
    extend_window,
)
from shard_jupyter.errors import Bug
from shard_jupyter.store.text_spill import spill_large_texts, spilled_hash
from shard_jupyter.types.content import (
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
)
from shard_jupyter.types.messages import Message, user_text
from shard_jupyter.types.wire_model import Unknown
from tests.entry_builders import assistant, compaction, intent, result, user

pytestmark = pytest.mark.proves("A11")


def shape(window: MessageWindow) -> list[Any]:
    """Roles with texts, calls and results, short to compare."""
    found: list[Any] = []
    for message in window.messages:
        for block in message.content:
            if isinstance(block, ToolResultBlock):
                text = "".join(p.text for p in block.content if isinstance(p, TextBlock))
                found.append((message.role, block.call_id, text))
            elif isinstance(block, ToolCallBlock):
                found.append((message.role, block.call_id))
            elif isinstance(block, TextBlock):
                found.append((message.role, block.text))
    return found


def codes(window: MessageWindow) -> list[str]:
    return [note.code for note in window.notes]


def test_an_ordinary_turn_becomes_its_messages() -> None:
    window = build_window(
        [
            user("e1", None, "list"),
            assistant("e2", "e1", "sure", calls=("c1", "c2")),
            intent("e3", "e2", "c1"),
            result("e4", "e3", "c1", "one"),
            result("e5", "e4", "c2", "two"),
            assistant("e6", "e5", "done"),
        ]
    )
    assert [message.role for message in window.messages] == [
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
    assert shape(window) == [
        ("user", "list"),
        ("assistant", "sure"),
        ("assistant", "c1"),
        ("assistant", "c2"),
        ("tool", "c1", "one"),
        ("tool", "c2", "two"),
        ("assistant", "done"),
    ]
    assert window.notes == ()


@pytest.mark.proves("H4b.21")
def test_results_come_in_call_order_right_after_their_message() -> None:
    window = build_window(
        [
            user("e1", None),
            assistant("e2", "e1", calls=("c1", "c2", "c3")),
            result("e3", "e2", "c3"),
            user("steer", "e3", "hurry", steer=True),
            result("e4", "steer", "c1"),
            result("e5", "e4", "c2"),
        ]
    )
    assert [each[1] for each in shape(window)[1:]] == ["c1", "c2", "c3", "c1", "c2", "c3", "hurry"]
    assert window.notes == ()


@pytest.mark.proves("H4b.21")
def test_results_whose_message_is_lost_are_left_out_with_a_note() -> None:
    window = build_window(
        [user("e1", None), result("r1", "gone", "c1"), assistant("e2", "r1", "x")]
    )
    assert shape(window) == [("user", "hello"), ("assistant", "x")]
    assert codes(window) == ["orphan_result"]


@pytest.mark.proves("H4b.21")
@pytest.mark.parametrize("written", range(4))
def test_a_kill_between_the_results_leaves_a_window_that_every_provider_takes(written: int) -> None:
    calls = ("c1", "c2", "c3")
    log: list[Any] = [user("e1", None), assistant("e2", "e1", calls=calls)]
    log += [result(f"r{n}", "e2", call, "ok") for n, call in enumerate(calls[:written])]
    window = build_window([*log, user("e9", "e2", "go on")])
    texts = [text for role, _, text in shape(window)[4:-1] if role == "tool"]
    assert texts == ["ok"] * written + [INTERRUPTED] * (3 - written)
    assert codes(window) == ["interrupted"] * (3 - written)


@pytest.mark.proves("H4b.27")
def test_a_call_that_was_started_and_has_no_result_is_uncertain_and_never_run_again() -> None:
    window = build_window(
        [
            user("e1", None),
            assistant("e2", "e1", calls=("c1", "c2")),
            intent("e3", "e2", "c1"),
        ]
    )
    results = window.messages[-1].content
    assert isinstance(results[0], ToolResultBlock)
    assert results[0].is_error
    assert shape(window)[-2:] == [("tool", "c1", UNCERTAIN), ("tool", "c2", INTERRUPTED)]
    assert codes(window) == ["uncertain", "interrupted"]
    assert UNCERTAIN.startswith("uncertain: ")
    assert INTERRUPTED.startswith("interrupted: ")


@pytest.mark.proves("H4b.27")
def test_a_call_that_succeeded_before_the_crash_keeps_its_result() -> None:
    window = build_window(
        [
            user("e1", None),
            assistant("e2", "e1", calls=("c1",)),
            intent("e3", "e2", "c1"),
            result("e4", "e3", "c1", "written"),
        ]
    )
    assert shape(window)[-1] == ("tool", "c1", "written")
    assert window.notes == ()


def test_the_first_of_two_results_counts() -> None:
    window = build_window(
        [
            user("e1", None),
            assistant("e2", "e1", calls=("c1",)),
            result("r1", "e2", "c1", "first"),
            result("r2", "r1", "c1", "second"),
        ]
    )
    assert shape(window)[-1] == ("tool", "c1", "first")
    assert codes(window) == ["duplicate_result"]


def test_a_call_id_that_comes_twice_is_answered_once() -> None:
    window = build_window(
        [
            user("e1", None),
            assistant("e2", "e1", "a", calls=("c1",)),
            result("r1", "e2", "c1"),
            assistant("e3", "r1", "b", calls=("c1",)),
        ]
    )
    assert shape(window)[-1] == ("assistant", "b")
    assert codes(window) == ["duplicate_call"]


def mixed(own: str, *blocks: Any, role: str = "user") -> Any:
    entry = user(own, None) if role == "user" else assistant(own, None, "x")
    return entry.model_copy(update={"content": blocks})


@pytest.mark.proves("H4c.29")
def test_a_message_of_words_and_results_is_split() -> None:
    inner = ToolResultBlock(call_id="c1", name="bash", content=(TextBlock(text="out"),))
    window = build_window(
        [
            user("e1", None),
            assistant("e2", "e1", calls=("c1",)),
            mixed("e3", TextBlock(text="and now"), inner),
            mixed("e4", ToolCallBlock(call_id="c9", name="bash"), TextBlock(text="odd")),
        ]
    )
    assert shape(window)[1:] == [
        ("assistant", "c1"),
        ("tool", "c1", "out"),
        ("user", "and now"),
        ("user", "odd"),
    ]
    assert codes(window) == ["misplaced_call"]


def test_what_says_nothing_is_left_out() -> None:
    window = build_window(
        [
            user("e1", None),
            mixed("e2", TextBlock(text=" \n")),
            mixed("e3", ThinkingBlock(text="hm"), role="assistant"),
            mixed("e4", Unknown(tag="video", raw={"kind": "video"}), role="assistant"),
        ]
    )
    assert window.messages == (user_text("hello"),)
    assert codes(window) == ["empty_message"] * 2 + ["unknown_block", "empty_message"]


def test_images_and_reasoning_stay_as_they_are() -> None:
    image = ImageBlock(media_type="image/png", sha256="0" * 64, size_bytes=3)
    thinking = ThinkingBlock(text="hm", route="anthropic:m", signature="sig")
    window = build_window(
        [mixed("e1", image), mixed("e2", thinking, TextBlock(text="so"), role="assistant")]
    )
    assert window.messages[0].content == (image,)
    assert window.messages[1].content == (thinking, TextBlock(text="so"))


def test_a_window_never_begins_with_an_answer() -> None:
    window = build_window([assistant("e2", "lost", "hi"), user("e3", "e2")])
    assert window.messages[0] == user_text(LOST_START)
    assert codes(window) == ["lost_start"]


def long_branch() -> list[Any]:
    turns: list[Any] = []
    for n in range(6):
        turns += [user(f"u{n}", None, f"ask {n}"), assistant(f"a{n}", None, calls=(f"c{n}",))]
        turns += [result(f"r{n}", None, f"c{n}"), assistant(f"z{n}", None, f"answer {n}")]
    return turns


def test_a_compaction_stands_for_all_before_what_it_kept() -> None:
    turns = long_branch()
    window = build_window([*turns[:20], compaction("k1", "z4", "u4", "SUM"), *turns[20:]])
    assert shape(window)[0] == ("user", "SUM")
    assert shape(window)[1] == ("user", "ask 4")
    assert shape(window)[-1] == ("assistant", "answer 5")
    assert window.notes == ()


@pytest.mark.proves("H4c.28", "H4c.34")
def test_a_second_compaction_replaces_the_first_and_keeps_no_result_without_its_call() -> None:
    turns = long_branch()
    branch = [
        *turns[:8],
        compaction("k1", None, "u1", "OLD"),
        *turns[8:16],
        # Its kept part begins before the older one, in the middle of a cycle.
        compaction("k2", None, "r1", "NEW"),
        *turns[16:],
    ]
    window = build_window(branch)
    assert shape(window)[:2] == [("user", "NEW"), ("assistant", "answer 1")]
    assert "OLD" not in str(shape(window))
    assert codes(window) == ["orphan_result"]


@pytest.mark.parametrize("first_kept", ["k1", "gone"])
def test_a_compaction_that_kept_nothing_is_followed_by_what_came_after(first_kept: str) -> None:
    turns = long_branch()
    window = build_window([*turns[:8], compaction("k1", "z1", first_kept, "SUM"), *turns[8:12]])
    assert shape(window)[:2] == [("user", "SUM"), ("user", "ask 2")]
    assert codes(window) == ([] if first_kept == "k1" else ["first_kept_missing"])


def test_a_compaction_without_a_text_is_said_aloud() -> None:
    window = build_window([user("e1", None), compaction("k1", "e1", "e1", "")])
    assert window.messages == (user_text("hello"),)
    assert codes(window) == ["no_summary"]


@pytest.mark.proves("H4d.44")
def test_half_characters_never_leave_in_a_request() -> None:
    call = ToolCallBlock(
        call_id="c1", name="bash", arguments={"a\ud800": ["\udfff", {"b": "\ud83d"}]}
    )
    entry = result("r1", None, "c1", "cut \ud83d")
    window = build_window([user("e1", None, "x\ud800"), mixed("e2", call, role="assistant"), entry])
    for message in window.messages:
        message.model_dump_json()
        Message.model_validate_json(message.model_dump_json())
    assert shape(window)[-1] == ("tool", "c1", "cut \ufffd")
    assert shape(window)[0] == ("user", "x\ufffd")
    answered = window.messages[1].tool_calls[0]
    assert answered.arguments == {"a\ufffd": ["\ufffd", {"b": "\ufffd"}]}


def test_a_long_output_is_used_as_it_was_kept_and_a_long_prompt_whole_when_given() -> None:
    text = "x" * 70_000
    prompt, _ = spill_large_texts(user("e1", None, text))
    output, _ = spill_large_texts(result("r1", None, "c1", text))
    branch = [prompt, assistant("e2", "e1", calls=("c1",)), output]
    kept = shape(build_window(branch))
    assert len(kept[0][1]) < 40_000
    assert "left out" in kept[-1][2]
    sha256 = spilled_hash(prompt.content[0])  # type: ignore[union-attr, arg-type]
    whole = build_window(branch, {str(sha256): text})
    assert shape(whole)[0] == ("user", text)
    assert whole.messages[0].content == (TextBlock(text=text),)


@pytest.mark.parametrize("cut", range(0, 25, 4))
def test_a_window_that_grew_is_the_window_built_anew(cut: int) -> None:
    turns = long_branch()
    grown = build_window(turns[:cut])
    for place in range(cut, len(turns), 4):
        grown = extend_window(grown, turns[place : place + 4])
    assert grown == build_window(turns)
    answer = [assistant("e1", None, "hi")]
    assert extend_window(build_window([]), answer) == build_window(answer)


def test_a_window_is_not_extended_where_it_would_become_another_one() -> None:
    turns = long_branch()
    with pytest.raises(Bug, match="compaction"):
        extend_window(build_window(turns), [compaction("k1", "z5", "u5")])
    with pytest.raises(Bug, match="results"):
        extend_window(build_window(turns[:2]), turns[2:4])
