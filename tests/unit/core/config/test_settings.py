"""What the settings model takes, and what becomes of keys and addresses of providers."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from shard_jupyter.core.config.known_keys import known_keys
from shard_jupyter.core.config.load_settings import parse_settings
from shard_jupyter.core.config.settings import Settings
from shard_jupyter.core.limits.pricing import Price, cost_usd
from shard_jupyter.errors import ConfigError
from shard_jupyter.types.usage import TokenUsage

pytestmark = pytest.mark.proves("A19")


def test_the_key_comes_from_the_usual_variable() -> None:
    settings = parse_settings({"providers": {"anthropic": {"timeout_seconds": 9}}}, "here")
    environ = {"ANTHROPIC_API_KEY": " key-1\n", "OPENAI_API_KEY": "key-2"}
    route = settings.provider_settings("anthropic", environ)
    assert (route.api_key, route.timeout_seconds) == ("key-1", 9)
    assert settings.provider_settings("openai-responses", environ).api_key == "key-2"


def test_a_named_variable_is_the_only_one_that_is_read() -> None:
    values = {"providers": {"openai": {"api_key_env": "LAB_KEY", "base_url": "http://lab.test/v1"}}}
    settings = parse_settings(values, "here")
    assert settings.provider_settings("openai", {"OPENAI_API_KEY": "no"}).api_key is None
    route = settings.provider_settings("openai", {"OPENAI_API_KEY": "no", "LAB_KEY": "yes"})
    assert (route.api_key, route.base_url) == ("yes", "http://lab.test/v1")


def test_an_unknown_prefix_has_an_address_and_no_key() -> None:
    settings = parse_settings({"providers": {"lab": {"context_window": 8192}}}, "here")
    route = settings.provider_settings("lab", {"OPENAI_API_KEY": "no"})
    assert (route.api_key, route.context_window) == (None, 8192)
    assert settings.provider_settings("nowhere", {}).base_url is None


def test_an_empty_key_is_no_key() -> None:
    assert Settings().provider_settings("openai", {"OPENAI_API_KEY": "  "}).api_key is None


@pytest.mark.parametrize(
    "values",
    [
        {"network": "off"},
        {"model": 5},
        {"ask_timeout_seconds": 0},
        {"ask_timeout_seconds": "60"},
        {"ask_timeout_seconds": float("inf")},
        {"limits": {"max_rounds": True}},
        {"limits": {"max_rounds": 1.5}},
        {"limits": None},
        {"usage_log": "yes"},
        {"tools": {"output_limit_bytes": 10}},
        {"retry": {"max_attempts": 0}},
        {"prices": {"openai:m": {"input_usd_per_million": -1}}},
        {"providers": {"openai": {"base_url": "localhost:8080"}}},
        {"providers": {"openai": {"base_url": "file:///etc/passwd"}}},
        {"providers": {"openai": {"base_url": "http://a b/"}}},
        {"providers": {"openai": {"base_url": "http://[::1/"}}},
        {"providers": {"openai": {"api_key_env": "sk-pasted-by-mistake"}}},
        {"permissions": {"rules": [{"effect": "permit"}]}},
        {"permissions": {"rules": {"effect": "deny"}}},
    ],
)
def test_a_value_that_does_not_fit_is_refused(values: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(values))):
        parse_settings(values, "here")


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        Settings().mode = "plan"  # type: ignore[misc]


def test_every_key_is_documented() -> None:
    assert [key.dotted for key in known_keys() if not key.documentation] == []


def test_a_key_that_counts_has_its_unit_in_its_name() -> None:
    units = ("_seconds", "_bytes", "_tokens", "_rounds", "_attempts", "_million", "_window")
    counted = [key for key in known_keys() if "number" in key.type_text]
    assert [key.dotted for key in counted if not key.dotted.endswith(units)] == []


def test_every_default_passes_its_own_check() -> None:
    assert parse_settings(Settings().model_dump(mode="json"), "defaults") == Settings()


@pytest.mark.parametrize("model", [Settings, Price])
def test_no_field_could_hold_a_secret(model: type[BaseModel]) -> None:
    text = str(model.model_json_schema()).lower()
    assert "password" not in text
    assert '"api_key"' not in text.replace("'", '"')


def test_a_model_on_this_machine_costs_nothing_unless_a_price_says_so() -> None:
    priced = {
        "local:gguf:a": {"input_usd_per_million": 1},
        "openai:b": {"output_usd_per_million": 2},
    }
    settings = parse_settings({"prices": priced}, "here")
    free = settings.find_price("local:gguf:x")
    assert free is not None
    assert free.is_complete
    assert cost_usd(TokenUsage(input_tokens=9, output_tokens=9), free) == 0
    assert settings.find_price("local:gguf:a") == Price(input_usd_per_million=1)
    assert settings.find_price("openai:b") == Price(output_usd_per_million=2)
    assert settings.find_price("openai:x") is None
    assert settings.find_price("localhost:x") is None
