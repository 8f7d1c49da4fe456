"""What counts as this machine, and what is missing before a model can be asked."""

from __future__ import annotations

import sys

import pytest

from shard_jupyter.capabilities.model_providers import register
from shard_jupyter.capabilities.model_providers.anthropic_messages import ANTHROPIC_FACTORY
from shard_jupyter.capabilities.model_providers.openai_chat import CHAT_FACTORY
from shard_jupyter.capabilities.model_providers.openai_responses import RESPONSES_FACTORY
from shard_jupyter.capabilities.model_providers.routes import is_loopback
from shard_jupyter.contracts.provider import ProviderFactory, ProviderSettings
from shard_jupyter.errors import ConfigError

pytestmark = pytest.mark.proves("A13")


@pytest.mark.parametrize(
    "url",
    ["http://localhost", "http://LOCALHOST:1/v1", "http://127.0.0.1:8080/v1", "http://127.9.9.9", "http://[::1]:1/v1"],
)  # fmt: skip
def test_loopback_is_this_machine(url: str) -> None:
    assert is_loopback(url)
    assert not CHAT_FACTORY.describe("m", ProviderSettings(base_url=url)).cloud


@pytest.mark.parametrize(
    "url",
    [
        "https://api.openai.com/v1", "http://127.0.0.1@evil.com", "http://localhost\\@evil.com",
        "http://localhost.evil.com", "http://127.0.0.1.evil.com", "http://evil.com#127.0.0.1",
        "http://0.0.0.0:1", "http://192.168.0.2", "http://user:pw@localhost", "localhost:11434", "",
        "http://xlocalhost", "http://127.0.0.1:80@evil.com:1",
    ],
)  # fmt: skip
def test_everything_else_is_cloud(url: str) -> None:
    assert not is_loopback(url)
    if url:
        settings = ProviderSettings(base_url=url, api_key="k")
        assert CHAT_FACTORY.describe("m", settings).cloud


@pytest.mark.parametrize(
    ("factory", "variable"),
    [
        (CHAT_FACTORY, "OPENAI_API_KEY"),
        (RESPONSES_FACTORY, "OPENAI_API_KEY"),
        (ANTHROPIC_FACTORY, "ANTHROPIC_API_KEY"),
    ],
)
def test_missing_key_is_a_refusal_that_names_the_variable(
    factory: ProviderFactory, variable: str
) -> None:
    refusal = factory.describe("m", ProviderSettings()).refusal
    assert refusal is not None
    assert (refusal.kind, refusal.satisfy) == ("needs_login", f"Set {variable}.")
    with pytest.raises(ConfigError) as raised:
        factory.create("m", ProviderSettings())
    assert raised.value.code == "needs_login"
    assert variable in raised.value.next_step


def test_missing_package_is_a_refusal_that_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "anthropic", None)
    refusal = ANTHROPIC_FACTORY.describe("m", ProviderSettings(api_key="k")).refusal
    assert refusal is not None
    assert (refusal.kind, refusal.satisfy) == ("needs_install", "pip install anthropic")


def test_key_on_a_remote_address_is_enough() -> None:
    assert CHAT_FACTORY.describe("m", ProviderSettings(api_key="k")).refusal is None


@pytest.mark.parametrize(
    "url",
    [
        "ftp://host/v1",
        "host/v1",
        "http://",
        "http://a\\b",
        "http://[::1",
        "http://a:99999999",
        "http://:80",
        "http://a:x/v1",
        "http://a b/",
    ],
)
def test_unusable_address_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="no http or https address"):
        CHAT_FACTORY.create("m", ProviderSettings(base_url=url, api_key="k"))


@pytest.mark.parametrize("key", ["Bearer abc", "abc\ndef", "schlüssel"])
def test_key_that_fits_no_header_is_refused_without_being_told(key: str) -> None:
    with pytest.raises(ConfigError) as raised:
        CHAT_FACTORY.create("m", ProviderSettings(api_key=key))
    assert key not in str(raised.value)


def test_configured_window_counts_more_than_the_known_one() -> None:
    known = ANTHROPIC_FACTORY.describe("claude-x", ProviderSettings(api_key="k"))
    configured = ANTHROPIC_FACTORY.describe("claude-x", ProviderSettings(context_window=9))
    unknown = ANTHROPIC_FACTORY.describe("other", ProviderSettings())
    assert (known.context_window, configured.context_window) == (200_000, 9)
    assert unknown.context_window is None


def test_three_factories_are_registered() -> None:
    prefixes = []

    class Api:
        def register_provider(self, factory: ProviderFactory) -> None:
            prefixes.append(factory.prefix)

    register(Api())  # type: ignore[arg-type]
    assert prefixes == ["openai", "openai-responses", "anthropic"]
