"""Which model is used where nobody has chosen one, and what is said where there is none."""

from __future__ import annotations

import pytest

from shard_jupyter.core.config.settings import ProviderSection, Settings
from shard_jupyter.core.providers.router import Router
from shard_jupyter.surfaces.sdk.default_model import DefaultModel, say_what_helps
from shard_jupyter.types.refusals import Refusal
from tests.fakes.local_models import MODEL_ID, LocalModels

pytestmark = pytest.mark.proves("C10", "A13")
PREFIXES = ("openai", "anthropic", "local", "mine")
SETTINGS = Settings(providers={"mine": ProviderSection(api_key_env="LAB_KEY")})


@pytest.mark.parametrize(
    ("environ", "keys"),
    [
        ({}, {}),
        ({"OPENAI_API_KEY": ""}, {}),
        ({"OPENAI_API_KEY": " \n"}, {}),
        ({"SOME_API_KEY": "k"}, {}),
        ({"ANTHROPIC_API_KEY": "k"}, {"anthropic": "ANTHROPIC_API_KEY"}),
        ({"LAB_KEY": "k"}, {"mine": "LAB_KEY"}),
    ],
)
def test_a_model_here_is_taken_only_where_no_key_is_set(
    environ: dict[str, str], keys: dict[str, str]
) -> None:
    local = LocalModels(proposes=MODEL_ID)
    default = DefaultModel.of(SETTINGS, PREFIXES, environ)
    assert default.keys == keys
    assert default.find(Router({"local": local}, {})) == (None if keys else MODEL_ID)
    # A person with a key does not wait for a look at the disk.
    assert len(local.asked_with) == (0 if keys else 1)


def test_with_a_key_the_advice_is_a_model_of_its_provider() -> None:
    told = say_what_helps({"anthropic": "ANTHROPIC_API_KEY"}, None)
    assert told == (
        "ANTHROPIC_API_KEY is set: name a model of its provider with --model anthropic:NAME, or "
        "set one: shard config set model anthropic:NAME."
    )


def test_without_a_key_the_advice_is_a_model_for_this_machine_and_first_an_engine() -> None:
    assert say_what_helps({}, None).startswith("Run `shard models pull`: a small model")
    missing = Refusal(
        kind="needs_install", message="", satisfy="pip install 'shard-jupyter[local]'"
    )
    told = say_what_helps({}, missing)
    assert told.startswith(
        "First pip install 'shard-jupyter[local]', then run `shard models pull`: "
    )
    assert "--model" in told
    assert "shard config set model" in told
