"""Refusals are values: what is missing and what would satisfy it (DESIGN §4)."""

from __future__ import annotations

from typing import Literal

from shard_jupyter.types.wire_model import WireModel


class Refusal(WireModel):
    """`satisfy` is the one thing to do: a command, an option, a key's name."""

    kind: Literal["needs_trust", "needs_consent", "needs_confirm", "needs_login", "needs_install"]
    message: str
    satisfy: str
