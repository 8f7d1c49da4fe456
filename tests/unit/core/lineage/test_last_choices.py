"""With what a conversation was used last."""

from __future__ import annotations

from typing import Any

import pytest

from shard_jupyter.core.lineage.last_choices import LastChoices, find_last_choices
from shard_jupyter.types.content import TextBlock
from shard_jupyter.types.ids import new_id
from shard_jupyter.types.session_entries import CheckpointEntry, MessageEntry, SessionEntry

pytestmark = pytest.mark.proves("A07", "A13", "B11")


def said(model: str) -> SessionEntry:
    role = "assistant" if model else "user"
    head: dict[str, Any] = {"id": new_id("entry"), "timestamp": "", "turn_id": "turn-1"}
    return MessageEntry(**head, role=role, content=(TextBlock(text="x"),), model=model)


def chose(kind: str, new: object) -> SessionEntry:
    artifact = {f"old_{kind}": "before", f"new_{kind}": new}
    return CheckpointEntry(id=new_id("entry"), timestamp="", artifact_kind=kind, artifact=artifact)


@pytest.mark.parametrize(
    ("branch", "last"),
    [
        ([], LastChoices()),
        ([said("")], LastChoices()),
        ([said(""), said("a:1"), said("")], LastChoices(model="a:1")),
        ([said("a:1"), said("b:2")], LastChoices(model="b:2")),
        ([said("a:1"), chose("model", "b:2")], LastChoices(model="b:2")),
        ([chose("model", "b:2"), said("a:1")], LastChoices(model="a:1")),
        ([chose("mode", "plan"), said("a:1")], LastChoices("plan", "a:1")),
        ([chose("mode", "plan"), chose("mode", "build")], LastChoices("build")),
        ([chose("plan", "x")], LastChoices()),
        ([chose("mode", 3), chose("model", None)], LastChoices()),
    ],
)
def test_the_newest_choice_counts(branch: list[SessionEntry], last: LastChoices) -> None:
    assert find_last_choices(branch) == last
