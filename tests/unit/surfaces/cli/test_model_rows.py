"""Which rows `shard models` shows: each model once, the default marked."""

from __future__ import annotations

import pytest

from shard_jupyter.contracts.provider import RouteInfo
from shard_jupyter.core.config.settings import Settings
from shard_jupyter.core.limits.pricing import Price
from shard_jupyter.surfaces.cli.model_rows import list_models
from shard_jupyter.types.model_rows import ModelRow
from tests.fakes.local_models import MODEL_ID, ROW

pytestmark = pytest.mark.proves("C10", "A13")
OTHER = ROW.model_copy(update={"model_id": "local:gguf:0123456789abcdef"})
PREFIXES = ("openai", "local")


def describe(model_id: str) -> RouteInfo:
    return RouteInfo(model_id=model_id, cloud=True)


def rows(settings: Settings, default: str | None, *found: ModelRow) -> list[ModelRow]:
    return list(list_models(settings, PREFIXES, describe, found=found, default=default))


def test_the_default_comes_first_and_is_the_only_one_marked() -> None:
    listed = rows(Settings(), MODEL_ID, OTHER, ROW)
    assert [row.model_id for row in listed] == [MODEL_ID, OTHER.model_id, "openai:*"]
    assert [row.is_default for row in listed] == [True, False, False]
    assert [row.size_bytes for row in listed] == [491_400_064, 491_400_064, None]


def test_a_model_that_is_configured_and_found_is_one_row() -> None:
    settings = Settings(model=MODEL_ID, prices={MODEL_ID: Price(), "openai:x": Price()})
    listed = rows(settings, MODEL_ID, ROW)
    assert [row.model_id for row in listed] == [MODEL_ID, "openai:x", "openai:*"]
    assert listed[0].size_bytes == ROW.size_bytes


def test_where_no_model_is_found_the_provider_stands_as_a_whole() -> None:
    assert [row.model_id for row in rows(Settings(), None)] == ["openai:*", "local:*"]


def test_a_mark_that_a_provider_gives_itself_does_not_count() -> None:
    proud = OTHER.model_copy(update={"is_default": True})
    assert not any(row.is_default for row in rows(Settings(), None, proud))
