"""The name of a model as a reader needs it. Pure."""

from __future__ import annotations

REPLAY = "replay:"


def show_model(model_id: str) -> str:
    """Leave out of a cassette's name where it lies: that differs from machine to machine."""
    if not model_id.startswith(REPLAY):
        return model_id
    return REPLAY + model_id.removeprefix(REPLAY).rstrip("/").rpartition("/")[2]
