"""Cassettes: real runs recorded as text, and `replay:FILE`, which plays them without a network."""

from __future__ import annotations

from shard_jupyter.capabilities.cassettes.replay import ReplayFactory
from shard_jupyter.contracts.extension_api import ExtensionApi

__all__ = ["register"]


def register(api: ExtensionApi) -> None:
    api.register_provider(ReplayFactory())
