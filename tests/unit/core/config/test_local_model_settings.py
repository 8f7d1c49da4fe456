"""What can be set for models on this machine, and who may set it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from shard_jupyter.core.config.change_settings import set_value
from shard_jupyter.core.config.known_keys import known_keys
from shard_jupyter.errors import ConfigError
from tests.unit.core.config.test_load_settings import Place, place

__all__ = ["place"]
pytestmark = pytest.mark.proves("A19", "C10")


@pytest.mark.parametrize(
    "values",
    [
        {"folders": ["models"]},
        {"folders": "~/models"},
        {"folders": ["~ada/models"]},
        {"folders": ["/a\0b"]},
        {"folders": [""]},
        {"server_path": "llama-server"},
        {"server_path": "./llama-server"},
        {"server_path": ""},
        {"engine": "vllm"},
        {"context_tokens": 2047},
        {"context_tokens": "4096"},
        {"context_token": 4096},
    ],
)
def test_what_does_not_fit_is_refused_with_its_key(place: Place, values: dict[str, Any]) -> None:
    place.user({"local_models": values})
    with pytest.raises(ConfigError, match=f"local_models.{next(iter(values))}"):
        place.load()


def test_a_project_that_is_not_trusted_names_no_program_no_folder_and_no_engine(
    place: Place,
) -> None:
    evil = {"server_path": "/tmp/evil", "folders": ["/tmp/evil"], "engine": "llama-server"}
    place.of_project(json.dumps({"local_models": evil}))
    untrusted = place.load().settings.local_models
    assert (untrusted.server_path, untrusted.folders, untrusted.engine) == (None, (), "auto")
    assert place.load(trust_project=True).settings.local_models.server_path == "/tmp/evil"


def test_folders_can_be_set_from_the_command_line_as_a_list(place: Place) -> None:
    set_value(place.environ, "local_models.folders", '["~/models", "/srv/m"]')
    set_value(place.environ, "local_models.context_tokens", "8192")
    found = place.load().settings.local_models
    assert (found.folders, found.context_tokens) == (("~/models", "/srv/m"), 8192)


def test_a_list_of_paths_is_documented_as_one_of_strings() -> None:
    types = {key.dotted: key.type_text for key in known_keys()}
    assert types["local_models.folders"] == "list of strings"
    assert types["permissions.rules"] == "list of rules"
    assert types["local_models.context_tokens"] == "whole number or null"
