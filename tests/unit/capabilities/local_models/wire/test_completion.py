"""The two dialects: what is sent, and what is read of their events."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from shard_jupyter.capabilities.local_models.wire.completion import (
    CompletionPart,
    CompletionRequest,
    PartReader,
    completion_body,
)
from shard_jupyter.capabilities.local_models.wire.local_failures import (
    event_failure,
    failure,
    status_failure,
)

pytestmark = pytest.mark.proves("C10")
REQUEST = CompletionRequest("p", "g", max_tokens=9)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda part: (
        st.lists(part, max_size=2)
        | st.dictionaries(
            st.sampled_from(["content", "stop", "choices", "text", "timings", "error", "message"]),
            part,
            max_size=3,
        )
    ),
    max_leaves=6,
)


def test_both_bodies_hold_no_chance() -> None:
    assert completion_body(REQUEST, "llama-server") == snapshot(
        {
            "prompt": "p",
            "grammar": "g",
            "temperature": 0.0,
            "seed": 1,
            "stream": True,
            "n_predict": 9,
            "cache_prompt": True,
            "return_progress": True,
        }
    )
    assert completion_body(REQUEST, "llama-cpp-python") == snapshot(
        {
            "prompt": "p",
            "grammar": "g",
            "temperature": 0.0,
            "seed": 1,
            "stream": True,
            "max_tokens": 9,
        }
    )


def test_the_last_event_of_the_native_server_tells_all() -> None:
    event = {
        "content": "", "stop": True, "stop_type": "limit", "truncated": True,
        "tokens_evaluated": 5, "tokens_predicted": 9, "timings": {"cache_n": 3},
    }  # fmt: skip
    assert PartReader("llama-server", 9, None).read(event) == CompletionPart(
        prompt_tokens=5, cached_tokens=3, output_tokens=9, is_last=True, is_limit=True,
        is_truncated=True,
    )  # fmt: skip


def test_the_other_server_says_length_for_both_limits() -> None:
    """Far below the number asked for it was the context."""
    for pieces, truncated in ((2, True), (9, False)):
        reader = PartReader("llama-cpp-python", 9, 7)
        for _ in range(pieces):
            reader.read({"choices": [{"text": "x", "finish_reason": None}]})
        last = reader.read({"choices": [{"text": "", "finish_reason": "length"}]})
        assert (last.is_limit, last.is_truncated, last.prompt_tokens) == (True, truncated, 7)


@given(st.dictionaries(st.text(max_size=8), VALUES) | VALUES.filter(lambda v: isinstance(v, dict)))
def test_no_event_makes_a_reader_raise(event: dict[str, object]) -> None:
    PartReader("llama-server", 9, None).read(event)
    PartReader("llama-cpp-python", 9, None).read(event)
    event_failure(event, secret="k")


@given(st.integers(300, 599), st.text(max_size=200))
def test_no_body_makes_a_failure_raise(status: int, body: str) -> None:
    told = status_failure(status, body, secret="")
    assert told.message
    assert told.kind in ("bad_request", "server", "context_full")


def test_a_failure_is_one_short_line_without_the_key() -> None:
    told = failure("server", "a\n b " + "secret-key " * 200 + "\ud800", secret="secret-key")
    assert told.message.startswith("a b *** ***")
    assert len(told.message) == 400
    assert "\n" not in told.message
