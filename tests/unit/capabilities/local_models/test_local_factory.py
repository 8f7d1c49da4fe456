"""`local:gguf:NAME`: what it stands for, what is missing, what there is."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import anyio.to_thread
import pytest

from shard_jupyter.capabilities.local_models.catalog.catalog_model import (
    CATALOG,
    DEFAULT_MODEL,
    SMALL_MODEL,
)
from shard_jupyter.capabilities.local_models.context_plans import TINY_CONTEXT, ContextPlans
from shard_jupyter.capabilities.local_models.gguf.refusals import BadModelFile
from shard_jupyter.capabilities.local_models.local_factory import LocalFactory
from shard_jupyter.capabilities.local_models.memory.context_plan import NotEnoughMemory
from shard_jupyter.capabilities.local_models.model_places import ModelPlaces
from shard_jupyter.capabilities.model_providers import CHAT_FACTORY
from shard_jupyter.contracts.provider import (
    Answered,
    ListsModels,
    ProposesModel,
    ProviderSettings,
)
from shard_jupyter.errors import UnknownModel, UserError
from tests.fakes.gguf_file import tiny_llama, write_tiny_model
from tests.fakes.local_server import FakeServers, local_server, write_answer
from tests.fakes.model_server import ask_once, failure_of
from tests.local_asking import HEADER, LARGE, request

pytestmark = pytest.mark.proves("C10", "A13")
GIB = 1 << 30


@pytest.fixture
def places(tmp_path: Path) -> ModelPlaces:
    """An engine is there: a program that a person named."""
    program = tmp_path / "llama-server"
    program.write_bytes(b"#!/bin/sh\n")
    program.chmod(0o755)
    models = tmp_path / "my models"
    models.mkdir()
    return ModelPlaces(
        state_home=tmp_path / "state",
        home=tmp_path / "home",
        folders=(models,),
        engine="llama-server",
        server_path=str(program),
    )


def settings(places: ModelPlaces) -> ProviderSettings:
    return ProviderSettings(extra=places.as_extra(), timeout_seconds=5.0)


def factory(memory: int = 8 * GIB) -> LocalFactory:
    return LocalFactory(FakeServers([]), CHAT_FACTORY, ContextPlans(lambda: memory))


def pull(places: ModelPlaces) -> Path:
    """Make the default model be there, as `shard models pull` leaves it."""
    path = places.models_home / DEFAULT_MODEL.file_name
    tiny_llama(name="Default").write(path)
    os.truncate(path, DEFAULT_MODEL.size_bytes)
    record = {
        "sha256": DEFAULT_MODEL.sha256,
        "size": DEFAULT_MODEL.size_bytes,
        "mtime_ns": path.stat().st_mtime_ns,
        "name": DEFAULT_MODEL.name,
    }
    Path(f"{path}.json").write_text(json.dumps(record), encoding="utf-8")
    return path


def test_it_is_all_that_a_factory_may_be() -> None:
    made = factory()
    assert made.prefix == "local"
    assert isinstance(made, ListsModels)
    assert isinstance(made, ProposesModel)


def test_a_file_by_its_path_is_local_small_and_asks_for_every_call(places: ModelPlaces) -> None:
    path = write_tiny_model(places.folders[0] / "a.gguf", context=32_768)
    route = factory().describe(f"gguf:{path}", settings(places))
    assert (route.cloud, route.host, route.refusal) == (False, "", None)
    assert route.context_window == TINY_CONTEXT
    assert route.asks_every_call
    assert route.model_id == f"local:gguf:{path}"


def test_a_configured_context_counts_up_to_what_was_trained(places: ModelPlaces) -> None:
    path = write_tiny_model(places.folders[0] / "a.gguf", context=16_384)
    for wanted, given in ((8_192, 8_192), (10**9, 16_384)):
        place = replace(places, context_tokens=wanted)
        assert factory().describe(f"gguf:{path}", settings(place)).context_window == given


def test_a_row_of_the_list_leads_to_the_same_model(places: ModelPlaces) -> None:
    path = write_tiny_model(places.folders[0] / "a.gguf")
    rows = factory().list_models(settings(places))
    (row,) = [row for row in rows if row.refusal is None]
    assert row.size_bytes == path.stat().st_size
    assert "a" in row.note
    assert "folder" in row.note
    route = factory().describe(row.model_id.partition(":")[2], settings(places))
    assert route.model_id == row.model_id


def test_models_of_the_catalogue_that_are_not_here_say_how_to_get_them(places: ModelPlaces) -> None:
    rows = factory().list_models(settings(places))
    assert [row.model_id for row in rows] == [model.model_id for model in CATALOG]
    refusals = [row.refusal for row in rows]
    assert [(r.kind, r.satisfy) for r in refusals if r] == [
        ("needs_install", f"shard models pull {DEFAULT_MODEL.name}"),
        ("needs_install", f"shard models pull {SMALL_MODEL.name}"),
    ]
    assert [row.size_bytes for row in rows] == [model.size_bytes for model in CATALOG]
    route = factory().describe(f"gguf:{SMALL_MODEL.name}", settings(places))
    assert route.refusal == refusals[1]
    with pytest.raises(UserError) as caught:
        factory().create(f"gguf:{SMALL_MODEL.name}", settings(places))
    assert caught.value.code == "needs_install"


def test_the_default_model_is_proposed_only_when_it_can_answer(places: ModelPlaces) -> None:
    assert factory().propose_model(settings(places)) is None
    pull(places)
    assert factory().propose_model(settings(places)) == DEFAULT_MODEL.model_id
    no_engine = replace(places, server_path="/nowhere/llama-server")
    assert factory().propose_model(settings(no_engine)) is None
    rows = factory().list_models(settings(places))
    assert [(row.model_id, row.refusal is None) for row in rows] == [
        (DEFAULT_MODEL.model_id, True),
        (SMALL_MODEL.model_id, False),
    ]


def test_without_an_engine_every_model_says_so(places: ModelPlaces) -> None:
    path = write_tiny_model(places.folders[0] / "a.gguf")
    bare = settings(replace(places, server_path="/nowhere/llama-server"))
    route = factory().describe(f"gguf:{path}", bare)
    assert route.refusal is not None
    assert route.refusal.kind == "needs_install"
    assert {row.refusal.kind for row in factory().list_models(bare) if row.refusal} == {
        "needs_install"
    }
    with pytest.raises(UserError) as caught:
        factory().create(f"gguf:{path}", bare)
    assert caught.value.code == "needs_install"


@pytest.mark.parametrize("name", ["gguf:", "gguf:nothing", "onnx:x", "x", "gguf:/no/such.gguf"])
def test_an_unknown_name_lists_what_there_is(places: ModelPlaces, name: str) -> None:
    write_tiny_model(places.folders[0] / "my-own.gguf")
    with pytest.raises(UnknownModel) as caught:
        factory().describe(name, settings(places))
    assert DEFAULT_MODEL.model_id in caught.value.next_step
    assert "my-own" in caught.value.next_step


def test_a_file_that_is_no_model_is_refused_in_words(places: ModelPlaces) -> None:
    path = places.folders[0] / "page.gguf"
    path.write_bytes(b"<!doctype html><html>not found</html>" * 9)
    with pytest.raises(BadModelFile):
        factory().describe(f"gguf:{path}", settings(places))


def test_too_little_memory_is_said_with_the_numbers(places: ModelPlaces) -> None:
    path = write_tiny_model(places.folders[0] / "a.gguf")
    with pytest.raises(NotEnoughMemory, match="MB"):
        factory(memory=1000).describe(f"gguf:{path}", settings(places))


async def test_making_a_provider_starts_nothing(places: ModelPlaces, tmp_path: Path) -> None:
    path = write_tiny_model(places.folders[0] / "a.gguf")
    servers = FakeServers([])
    made = LocalFactory(servers, CHAT_FACTORY, ContextPlans(lambda: GIB))
    provider = await anyio.to_thread.run_sync(made.create, f"gguf:{path}", settings(places))
    await provider.aclose()
    assert servers.specs == []
    assert provider.route.context_window == TINY_CONTEXT


@pytest.mark.proves("L4.vanished")
@pytest.mark.parametrize(
    ("becomes", "told"),
    [("page", "GGUF"), ("gone", "a.gguf"), ("other", "another model"), ("same", "")],
)
async def test_a_file_is_looked_at_again_before_a_server_meets_it(
    places: ModelPlaces, becomes: str, told: str
) -> None:
    """Between the choice of a model and the start of its server the file may be another."""
    path = write_tiny_model(places.folders[0] / "a.gguf")
    servers = FakeServers([], refuses=UserError("It was asked to start."))
    made = LocalFactory(servers, CHAT_FACTORY, ContextPlans(lambda: GIB))
    provider = await anyio.to_thread.run_sync(made.create, f"gguf:{path}", settings(places))
    path.unlink()
    if becomes == "page":
        path.write_bytes(b"<!doctype html><html>not found</html>" * 9)
    elif becomes == "other":
        write_tiny_model(path, name="other")
    elif becomes == "same":
        write_tiny_model(path)
    failure = await failure_of(provider, request("Hi"))
    await provider.aclose()
    assert len(servers.specs) == (becomes == "same")
    assert told in failure.message
    assert becomes == "same" or failure.next_step


@pytest.mark.proves("L4.vanished")
async def test_a_file_is_looked_at_again_while_its_server_is_up(places: ModelPlaces) -> None:
    """A server that was idle has given the model back, and reads the file anew."""
    path = write_tiny_model(places.folders[0] / "a.gguf")
    async with local_server(write_answer("Hello."), write_answer("Hello.")) as server:
        made = LocalFactory(
            FakeServers([server.running()]), CHAT_FACTORY, ContextPlans(lambda: GIB)
        )
        provider = await anyio.to_thread.run_sync(made.create, f"gguf:{path}", settings(places))
        assert isinstance((await ask_once(provider, request("Hi")))[-1], Answered)
        await anyio.to_thread.run_sync(path.write_bytes, b"<!doctype html><html></html>" * 9)
        failure = await failure_of(provider, request("Hi"))
        await provider.aclose()
    assert "GGUF" in failure.message
    assert len(server.asked) == 1


def test_who_joins_gets_the_plan_of_the_server_that_is_up() -> None:
    """A server that is up takes the memory that its own plan counted as free."""
    memory = [8 * GIB, 9 * (1 << 20), 9 * (1 << 20)]
    plans = ContextPlans(lambda: memory.pop(0))
    big = replace(LARGE, file_bytes=1 << 20, trained_context=65_536, kv_heads=(64,))
    first, give_back = plans.hold(big, None)
    second, give_back_too = plans.hold(big, None)
    assert first == second == plans.look(big, None)
    give_back()
    give_back()
    assert plans.look(big, None) == first, "given back once only"
    give_back_too()
    with pytest.raises(NotEnoughMemory):
        plans.look(big, None)


def test_a_small_model_gets_a_small_context_and_a_large_one_what_fits() -> None:
    plans = ContextPlans(lambda: 64 * GIB)
    assert plans.look(replace(HEADER, trained_context=32_768), None).context_tokens == TINY_CONTEXT
    assert plans.look(replace(LARGE, trained_context=32_768), None).context_tokens == 32_768
