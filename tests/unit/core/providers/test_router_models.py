"""What the providers say of models by themselves: which there are, and which can be used."""

from __future__ import annotations

import pytest

from shard_jupyter.contracts.provider import ListsModels, ProposesModel, ProviderSettings
from shard_jupyter.core.providers.router import Router
from shard_jupyter.errors import NetworkForbidden
from tests.fakes.local_models import MODEL_ID, ROW, LocalModels
from tests.unit.core.providers.test_router import CLOUD

pytestmark = pytest.mark.proves("A13", "C10")
SETTINGS = ProviderSettings(extra={"folders": "[]"})


def router(local: LocalModels) -> Router:
    return Router({"anthropic": CLOUD, "local": local}, {"local": SETTINGS}, network="local")


def test_only_providers_that_know_their_models_are_asked_and_with_their_own_settings() -> None:
    local = LocalModels(ROW, proposes=MODEL_ID)
    assert isinstance(local, ListsModels)
    assert isinstance(local, ProposesModel)
    assert not isinstance(CLOUD, (ListsModels, ProposesModel))
    assert router(local).list_models() == (ROW,)
    assert router(local).propose_model() == MODEL_ID
    assert local.asked_with == [SETTINGS, SETTINGS]


def test_where_nobody_proposes_one_there_is_none() -> None:
    assert router(LocalModels()).propose_model() is None
    assert Router({"anthropic": CLOUD}, {}).propose_model() is None
    assert Router({}, {}).list_models() == ()


def test_a_refused_route_says_how_to_come_to_a_model_here_and_such_a_one_passes() -> None:
    with pytest.raises(NetworkForbidden) as caught:
        router(LocalModels()).check("anthropic:claude")
    assert "`shard models pull` fetches one" in caught.value.next_step
    assert router(LocalModels()).check(MODEL_ID).asks_every_call
