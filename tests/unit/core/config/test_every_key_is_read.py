"""A key that can be set has an effect: something outside of the configuration reads it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest
from pydantic import BaseModel

from shard_jupyter.core.config.settings import Section, Settings
from shard_jupyter.core.limits.pricing import Price
from tests.conftest import PACKAGE

pytestmark = pytest.mark.proves("A19")
CONFIG = PACKAGE / "core/config"


def leaf_keys(model: type[BaseModel]) -> Iterator[str]:
    """Names of all keys that hold a value and no section."""
    for name, field in model.model_fields.items():
        kind = field.annotation
        arguments = getattr(kind, "__args__", ())
        nested = [part for part in (kind, *arguments) if isinstance(part, type)]
        sections = [part for part in nested if issubclass(part, (Section, Price))]
        if not sections:
            yield name
        for section in sections:
            yield from leaf_keys(section)


def names_read_outside_of_the_configuration() -> set[str]:
    # What a provider needs is handed on by the settings themselves.
    files = [CONFIG / "settings.py"]
    files += [path for path in PACKAGE.rglob("*.py") if CONFIG not in path.parents]
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in files)
    nodes = (node for tree in trees for node in ast.walk(tree))
    return {node.attr for node in nodes if isinstance(node, ast.Attribute)}


def test_every_key_that_can_be_set_is_read_somewhere() -> None:
    keys = set(leaf_keys(Settings))
    assert {"model", "api_key_env", "max_attempts", "input_usd_per_million"} <= keys
    assert keys - names_read_outside_of_the_configuration() == set()
