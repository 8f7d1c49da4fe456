"""With which mode and model a conversation was last used. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shard_jupyter.types.session_entries import CheckpointEntry, MessageEntry, SessionEntry


@dataclass(frozen=True)
class LastChoices:
    """Empty where the log tells nothing."""

    mode: str = ""
    model: str = ""


def find_last_choices(branch: Sequence[SessionEntry]) -> LastChoices:
    """Look from the newest entry back. A model that was chosen counts before it has answered."""
    mode = model = ""
    for entry in reversed(branch):
        mode = mode or _chosen(entry, "mode")
        model = model or _chosen(entry, "model")
        if not model and isinstance(entry, MessageEntry):
            model = entry.model
        if mode and model:
            break
    return LastChoices(mode, model)


def _chosen(entry: SessionEntry, kind: str) -> str:
    if not isinstance(entry, CheckpointEntry) or entry.artifact_kind != kind:
        return ""
    name = entry.artifact.get(f"new_{kind}")
    return name if isinstance(name, str) else ""
