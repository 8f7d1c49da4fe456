"""Who decides where it is left open."""

from __future__ import annotations

from typing import Any

import pytest

from shard_jupyter.errors import UsageError
from shard_jupyter.surfaces.sdk.who_decides import check_ask, check_callback, choose_ask

pytestmark = pytest.mark.proves("B11", "E04")


@pytest.mark.parametrize(
    ("asked", "model", "callback", "policy", "chosen"),
    [
        (None, "openai:x", False, "rules", "rules"),
        (None, "openai:x", False, "deny", "deny"),
        (None, "openai:x", False, "queue", "inline"),
        (None, "openai:x", True, "deny", "inline"),
        (None, "replay:x", False, "deny", "recorded"),
        (None, "replay:x", True, "deny", "inline"),
        (None, "replayer:x", False, "rules", "rules"),
        ("yes", "replay:x", False, "rules", "yes"),
        ("rules", "replay:x", False, "queue", "rules"),
    ],
)
def test_what_is_asked_for_counts_then_a_callback_then_a_cassette(
    asked: Any, model: str, callback: bool, policy: str, chosen: str
) -> None:
    assert choose_ask(asked, model, has_callback=callback, headless_policy=policy) == chosen


def test_only_a_cassette_answers_as_recorded() -> None:
    check_ask("recorded", "replay:run.jsonl")
    check_ask(None, "openai:x")
    with pytest.raises(UsageError, match="'openai:x' plays none") as caught:
        check_ask("recorded", "openai:x")
    assert "replay:FILE" in caught.value.next_step
    with pytest.raises(UsageError, match="not known"):
        check_ask("perhaps", "replay:x")  # type: ignore[arg-type]


@pytest.mark.parametrize("asked", ["deny", "rules", "yes", "recorded"])
def test_a_callback_that_is_never_called_is_refused(asked: Any) -> None:
    check_callback(asked, has_callback=False)
    check_callback("inline", has_callback=True)
    with pytest.raises(UsageError, match="never called"):
        check_callback(asked, has_callback=True)
