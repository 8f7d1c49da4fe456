"""Settings and environment reach the provider of models on this machine, and only what it needs."""

from __future__ import annotations

from pathlib import Path

import pytest

from shard_jupyter.capabilities.local_models.model_places import ModelPlaces
from shard_jupyter.core.config.settings import LocalModelsSection, ProviderSection, Settings
from shard_jupyter.surfaces.sdk.local_places import find_model_places, gather_provider_settings

pytestmark = pytest.mark.proves("C10", "A19")
ENVIRON = {
    "HOME": "/home/ada",
    "SHARD_HOME": "/state",
    "HF_HOME": "/cache/hf",
    "OLLAMA_MODELS": "",
    "OPENAI_API_KEY": "secret",
    "SHARD_LLAMA_SERVER": "/opt/llama-server",
}
SECTION = LocalModelsSection(
    folders=("~/models", "/srv/models"),
    engine="llama-server",
    server_path="~/bin/llama-server",
    context_tokens=4096,
)


def test_every_setting_arrives_with_whole_paths() -> None:
    assert find_model_places(Settings(local_models=SECTION), ENVIRON) == ModelPlaces(
        state_home=Path("/state"),
        home=Path("/home/ada"),
        folders=(Path("/home/ada/models"), Path("/srv/models")),
        environ={"HF_HOME": "/cache/hf", "SHARD_LLAMA_SERVER": "/opt/llama-server"},
        engine="llama-server",
        server_path="/home/ada/bin/llama-server",
        context_tokens=4096,
    )


def test_without_settings_nothing_is_named_but_home_and_state() -> None:
    places = find_model_places(Settings(), {"HOME": "/home/ada"})
    assert places == ModelPlaces(state_home=Path("/home/ada/.shard"), home=Path("/home/ada"))


def test_only_the_provider_of_local_models_is_told_and_reads_the_same_back() -> None:
    own = {"local": ProviderSection(timeout_seconds=9)}
    settings = Settings(local_models=SECTION, providers=own)
    known = gather_provider_settings(settings, ["openai", "local"], ENVIRON)
    assert known["openai"].extra == {}
    assert known["openai"].api_key == "secret"
    assert known["local"].timeout_seconds == 9
    assert known["local"].api_key is None
    assert ModelPlaces.from_settings(known["local"]) == find_model_places(settings, ENVIRON)
    assert "secret" not in str(known["local"].extra)
    assert set(gather_provider_settings(settings, ["openai"], ENVIRON)) == {"openai"}
