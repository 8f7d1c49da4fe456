"""From a routing id to a provider, or a sentence that helps."""

from __future__ import annotations

from typing import Literal

import pytest

from shard_jupyter.contracts.provider import Provider, ProviderSettings, RouteInfo
from shard_jupyter.contracts.tool_context import BlobStore
from shard_jupyter.core.providers.router import Router
from shard_jupyter.errors import NetworkForbidden, UnknownModel
from shard_jupyter.testing.scripted_provider import ScriptedProvider

pytestmark = pytest.mark.proves("A13")


class Factory:
    """A `ProviderFactory` that notes what it was asked for."""

    def __init__(self, prefix: str, *, cloud: bool) -> None:
        self.prefix = prefix
        self.cloud = cloud
        self.made: list[tuple[str, ProviderSettings]] = []

    def describe(self, model: str, settings: ProviderSettings) -> RouteInfo:
        return RouteInfo(
            model_id=f"{self.prefix}:{model}",
            cloud=self.cloud,
            host=settings.base_url or "",
            context_window=settings.context_window,
        )

    def create(
        self, model: str, settings: ProviderSettings, blobs: BlobStore | None = None
    ) -> Provider:
        self.made.append((model, settings))
        return ScriptedProvider([])


CLOUD = Factory("anthropic", cloud=True)
LOCAL = Factory("local", cloud=False)
SETTINGS = {"local": ProviderSettings(context_window=7)}


def router(network: Literal["on", "local"] = "on") -> Router:
    CLOUD.made.clear()
    LOCAL.made.clear()
    return Router({"anthropic": CLOUD, "local": LOCAL}, SETTINGS, network=network)


def test_model_goes_to_the_factory_of_its_prefix_with_its_settings() -> None:
    router().create("local:gguf:some/model:q4")
    assert LOCAL.made == [("gguf:some/model:q4", SETTINGS["local"])]
    assert CLOUD.made == []
    assert router().describe("local:x").context_window == 7


def test_prefix_without_settings_gets_empty_ones() -> None:
    router().create("anthropic:claude")
    assert CLOUD.made == [("claude", ProviderSettings())]


@pytest.mark.parametrize(
    ("model_id", "help_"),
    [
        ("antropic:claude", "Did you mean anthropic:claude?"),
        ("Local:m", "Did you mean local:m?"),
        ("gpt-5", "A model is named PREFIX:MODEL."),
        ("anthropic", "A model is named PREFIX:MODEL."),
        ("anthropic:", "Known prefixes: anthropic:, local:."),
        ("zzz:m", "Known prefixes: anthropic:, local:."),
        (":m", "Known prefixes: anthropic:, local:."),
        ("", "Known prefixes: anthropic:, local:. `shard models` lists what there is."),
    ],
)
def test_unknown_model_is_told_with_the_nearest_known(model_id: str, help_: str) -> None:
    for ask in (router().describe, router().create):
        with pytest.raises(UnknownModel) as raised:
            ask(model_id)
        assert help_ in raised.value.next_step
        assert "anthropic:, local:" in raised.value.next_step
        assert raised.value.code == "unknown_model"


def test_local_network_refuses_the_cloud_before_anything_is_made() -> None:
    guarded = router("local")
    with pytest.raises(NetworkForbidden) as raised:
        guarded.create("anthropic:claude")
    assert CLOUD.made == []
    assert raised.value.next_step
    guarded.create("local:m")
    assert LOCAL.made


def test_router_without_any_provider_says_so() -> None:
    with pytest.raises(UnknownModel, match="none"):
        Router({}, {}).create("a:b")
