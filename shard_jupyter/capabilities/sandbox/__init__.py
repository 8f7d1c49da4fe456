"""Locking children in: bubblewrap, or Landlock with seccomp (DESIGN §8, FEATURES E09)."""

from __future__ import annotations

from shard_jupyter.capabilities.sandbox.bubblewrap import BubblewrapProvider
from shard_jupyter.capabilities.sandbox.landlock import LandlockProvider
from shard_jupyter.contracts.extension_api import ExtensionApi


def register(api: ExtensionApi) -> None:
    """Register the providers, the one that locks in more of its own first."""
    api.register_sandbox(BubblewrapProvider())
    api.register_sandbox(LandlockProvider())
