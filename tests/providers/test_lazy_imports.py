"""Processes that only describe routes load no SDK and no HTTP client."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import shard_jupyter

pytestmark = pytest.mark.proves("A13")
ROOT = Path(shard_jupyter.__file__).parent.parent
DESCRIBE = """
import sys
from shard_jupyter.capabilities import model_providers, cassettes
from shard_jupyter.contracts.provider import ProviderSettings
from shard_jupyter.core.providers.router import Router

factories = {}
class Api:
    def register_provider(self, factory):
        factories[factory.prefix] = factory
model_providers.register(Api())
cassettes.register(Api())
router = Router(factories, {})
for prefix in sorted(factories):
    route = router.describe(prefix + ":some-model")
    print(prefix, route.cloud, route.host, route.refusal and route.refusal.satisfy)
heavy = {"openai", "anthropic", "httpx2", "httpcore2", "ssl"}
print("loaded:", sorted(heavy & set(sys.modules)))
"""


def test_registering_and_describing_load_nothing_heavy() -> None:
    done = subprocess.run(
        [sys.executable, "-c", DESCRIBE],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        encoding="utf-8",
    )
    assert done.stdout.split("\n") == [
        "anthropic True api.anthropic.com Set ANTHROPIC_API_KEY.",
        "openai True api.openai.com Set OPENAI_API_KEY.",
        "openai-responses True api.openai.com Set OPENAI_API_KEY.",
        "replay False  None",
        "loaded: []",
        "",
    ]
