"""One row of the model list."""

from __future__ import annotations

from shard_jupyter.types.refusals import Refusal
from shard_jupyter.types.wire_model import WireModel


class ModelRow(WireModel):
    """A model that could be chosen. `refusal` says what is missing before it can answer."""

    model_id: str
    """Routing id, `provider:model`; stable."""
    provider: str
    cloud: bool
    is_default: bool = False
    context_window: int | None = None
    refusal: Refusal | None = None
    note: str = ""
    size_bytes: int | None = None
    """Of the model's file, where it is one on this machine."""
