"""A run for which nobody has chosen a model: on this machine where no key is set, else in words."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import anyio
import pytest

from shard_jupyter import Shard
from shard_jupyter.capabilities.local_models.model_places import ModelPlaces
from shard_jupyter.core.config.load_settings import load_settings
from shard_jupyter.errors import UnknownModel
from shard_jupyter.surfaces import composition
from shard_jupyter.surfaces.cli.commands.doctor import look_at_everything
from shard_jupyter.surfaces.cli.model_rows import collect_rows
from shard_jupyter.testing.scripted_provider import call, say
from shard_jupyter.types.events import AgentEvent
from tests.fakes.local_models import MODEL_ID, ROW, LocalModels

pytestmark = pytest.mark.proves("C10", "A13")


@pytest.fixture
def local(monkeypatch: pytest.MonkeyPatch) -> LocalModels:
    """One model on this machine, as if it were bundled."""
    factory = LocalModels(ROW, proposes=MODEL_ID)
    bundled = (*composition.BUNDLED, ("fake", factory.register))
    monkeypatch.setattr(composition, "BUNDLED", bundled)
    return factory


async def run(folder: Path, *, environ: dict[str, str] | None = None, **options: Any) -> Any:
    events: list[AgentEvent] = []
    with anyio.fail_after(20):
        environ = {**os.environ, **(environ or {})}
        agent = Shard(cwd=folder, environ=environ, **options)
        agent.subscribe(events.append)
        async with agent:
            session = agent.session_id
            result = await agent.prompt("hi", check=False)
    notices = [event for event in events if event.type == "notice"]
    models = [event.model for event in events if event.type == "turn_start"]
    return result, models, notices, session


async def test_without_a_key_the_model_here_is_used_and_that_is_told(
    tmp_path: Path, local: LocalModels
) -> None:
    result, models, (notice,), _ = await run(tmp_path)
    assert (result.outcome, models) == ("completed", [MODEL_ID])
    assert (notice.code, notice.tone) == ("default_model", "info")
    assert notice.message == (f"No model is chosen and no key is set: {MODEL_ID} is used.")


async def test_it_is_used_with_network_local_too(tmp_path: Path, local: LocalModels) -> None:
    result, *_ = await run(tmp_path, environ={"SHARD_NETWORK": "local"})
    assert result.outcome == "completed"


async def test_with_a_key_no_model_is_guessed(tmp_path: Path, local: LocalModels) -> None:
    with pytest.raises(UnknownModel) as caught:
        await run(tmp_path, environ={"OPENAI_API_KEY": "k"})
    assert "--model openai:NAME" in caught.value.next_step
    assert local.asked_with == []
    assert not (Path(os.environ["SHARD_HOME"]) / "sessions").exists()


async def test_what_is_chosen_is_used_and_nothing_is_told(
    tmp_path: Path, local: LocalModels
) -> None:
    for options in ({"model": "local:gguf:x"}, {"overrides": {"model": "local:gguf:x"}}):
        _, models, notices, _ = await run(tmp_path, **options)
        assert (models, notices) == (["local:gguf:x"], [])
    _, models, notices, _ = await run(tmp_path, environ={"SHARD_MODEL": "local:gguf:y"})
    assert (models, notices) == (["local:gguf:y"], [])


async def test_a_session_goes_on_with_its_own_model(tmp_path: Path, local: LocalModels) -> None:
    *_, session = await run(tmp_path, model="local:gguf:x")
    _, models, notices, _ = await run(tmp_path, session=session)
    assert (models, notices) == (["local:gguf:x"], [])


async def test_where_there_is_none_the_words_name_the_command(
    tmp_path: Path, local: LocalModels
) -> None:
    local.proposes = None
    with pytest.raises(UnknownModel) as caught:
        await run(tmp_path)
    assert "`shard models pull`" in caught.value.next_step


async def test_its_calls_are_asked_so_a_headless_run_reads_only_by_a_rule(
    tmp_path: Path, local: LocalModels
) -> None:
    (tmp_path / "a.txt").write_text("x\n", encoding="utf-8")
    local.script = (call("read", path="a.txt"), say("done"))
    result, *_ = await run(tmp_path)
    (denial,) = result.denials
    assert "the model is small" in denial.reason
    rule = json.loads(denial.would_allow)
    result, *_ = await run(tmp_path, overrides={"permissions.rules": [rule]})
    assert result.denials == ()


async def test_the_settings_reach_the_provider(tmp_path: Path, local: LocalModels) -> None:
    await run(tmp_path, overrides={"local_models.folders": ["~/models"]})
    places = ModelPlaces.from_settings(local.asked_with[0])
    assert places.folders == (Path(os.environ["HOME"]) / "models",)
    assert places.state_home == Path(os.environ["SHARD_HOME"])


def test_the_list_and_the_doctor_name_it_as_what_is_used(
    tmp_path: Path, local: LocalModels
) -> None:
    settings = load_settings(os.environ, tmp_path).settings
    first, *others = collect_rows(settings, os.environ)
    assert (first.model_id, first.is_default) == (MODEL_ID, True)
    assert not any(row.is_default or row.model_id.startswith("local:") for row in others)
    checks = {check.name: check for check in look_at_everything(os.environ, tmp_path)}
    assert checks["model"].status == "ok"
    assert MODEL_ID in checks["model"].message
    assert checks["keys"].status == "ok"
    with_key = {**os.environ, "OPENAI_API_KEY": "k"}
    assert not any(row.is_default for row in collect_rows(settings, with_key))
    checks = {check.name: check for check in look_at_everything(with_key, tmp_path)}
    assert checks["model"].status == "warn"
