"""A transcript says which cassette was played, not where it lies."""

from __future__ import annotations

import pytest

from shard_jupyter.surfaces.render_static.words.model_words import show_model

pytestmark = pytest.mark.proves("D09")


@pytest.mark.parametrize(
    ("model", "shown"),
    [
        ("openai:gpt-5", "openai:gpt-5"),
        ("local:/models/a.gguf", "local:/models/a.gguf"),
        ("replay:/home/ada/cassettes/run.jsonl", "replay:run.jsonl"),
        ("replay:run.jsonl", "replay:run.jsonl"),
        ("replay:a folder/", "replay:a folder"),
        ("replay:", "replay:"),
    ],
)
def test_only_the_name_of_a_cassette_is_shown(model: str, shown: str) -> None:
    assert show_model(model) == shown
