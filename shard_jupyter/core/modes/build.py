"""Build mode: everything is offered, the gate decides call by call."""

from __future__ import annotations

from shard_jupyter.contracts.mode import Mode

BUILD = Mode(
    name="build",
    description="Make changes; what is not plainly harmless is asked for.",
)
