"""A real local model for tests and for `poe bench`: the file that a variable names, a real engine."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio.to_thread

from shard_jupyter.capabilities.local_models.catalog.catalog_model import DEFAULT_MODEL
from shard_jupyter.capabilities.local_models.engines.find_engine import find_engine_problem
from shard_jupyter.capabilities.local_models.local_factory import LocalFactory
from shard_jupyter.capabilities.local_models.model_places import ModelPlaces
from shard_jupyter.capabilities.local_models.servers.server_pool import ServerPool
from shard_jupyter.capabilities.model_providers import CHAT_FACTORY
from shard_jupyter.contracts.provider import Provider, ProviderSettings
from shard_jupyter.core.processes import start_peer
from tests.local_models import DEFAULT_VARIABLE, find_default_model

ENGINE_VARIABLE = "SHARD_TEST_ENGINE"
"""Which engine the tests use: `auto` where it is not set."""
STATE_HOME = Path(os.environ.get("SHARD_HOME") or Path.home() / ".shard")
"""The person's own: tests and the bench set the variable to folders of theirs later."""


def make_settings(state_home: Path, *, context_tokens: int | None = None) -> ProviderSettings:
    places = ModelPlaces(
        state_home=state_home,
        home=state_home,
        engine=os.environ.get(ENGINE_VARIABLE, "auto"),
        context_tokens=context_tokens,
    )
    return ProviderSettings(extra=places.as_extra(), timeout_seconds=120.0)


def name_default_model() -> str:
    """Name of the default model behind `local:`, to be asked now.

    Raises:
        LookupError: what is missing, in words.
    """
    wanted = os.environ.get(ENGINE_VARIABLE, "auto")
    if problem := find_engine_problem(wanted, "", {}):
        raise LookupError(f"no engine: {problem.message} {problem.satisfy}")
    value = os.environ.get(DEFAULT_VARIABLE, "")
    if value:
        return f"gguf:{find_default_model()}"
    places = ModelPlaces(state_home=STATE_HOME, home=STATE_HOME)
    pulled = places.models_home / DEFAULT_MODEL.file_name
    if pulled.is_file():
        return f"gguf:{pulled}"
    raise LookupError(
        f"no model: set {DEFAULT_VARIABLE}, or run `shard models pull {DEFAULT_MODEL.name}`"
    )


@asynccontextmanager
async def local_provider(
    name: str, state_home: Path, *, context_tokens: int | None = None
) -> AsyncIterator[Provider]:
    """The real provider over a real server, which has ended when the block has."""
    pool = ServerPool(start_peer)
    factory = LocalFactory(pool, CHAT_FACTORY)
    settings = make_settings(state_home, context_tokens=context_tokens)
    provider = await anyio.to_thread.run_sync(factory.create, name, settings)
    try:
        yield provider
    finally:
        await provider.aclose()
        await anyio.to_thread.run_sync(pool.close)
