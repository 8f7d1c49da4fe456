"""From where the path behind `replay:` is seen."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from shard_jupyter.errors import UserError
from shard_jupyter.surfaces.sdk.shard import Shard
from shard_jupyter.testing.scripted_provider import ScriptedProvider, say

pytestmark = pytest.mark.proves("E04")


@pytest.fixture
async def notebook(tmp_path: Path) -> Path:
    """A folder with a cassette, which is not the folder of this process."""
    folder = tmp_path / "notebook"
    folder.mkdir()
    with anyio.fail_after(10):
        async with Shard(
            cwd=folder, provider=ScriptedProvider([say("Hi.")]), record=folder / "a.jsonl"
        ) as agent:
            await agent.prompt("hello")
    return folder


async def test_a_relative_path_is_seen_from_the_folder_that_is_named(notebook: Path) -> None:
    with anyio.fail_after(10):
        async with Shard(cwd=notebook, model="replay:a.jsonl", seen_from=notebook) as agent:
            assert (await agent.prompt("hello")).text == "Hi."
            assert agent.model == "replay:a.jsonl"
            session_id = agent.session_id
        async with Shard(cwd=notebook, session=session_id, seen_from=notebook) as agent:
            assert agent.model == "replay:a.jsonl"


async def test_without_one_it_is_seen_from_the_folder_of_the_process(
    notebook: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        async with Shard(cwd=notebook, model="replay:a.jsonl"):
            pass
    monkeypatch.chdir(notebook)
    async with Shard(cwd=notebook, model="replay:a.jsonl") as agent:
        assert (await agent.prompt("hello")).text == "Hi."


async def test_an_absolute_path_is_the_same_from_everywhere(notebook: Path, tmp_path: Path) -> None:
    model = f"replay:{notebook / 'a.jsonl'}"
    async with Shard(cwd=notebook, model=model, seen_from=tmp_path) as agent:
        assert (await agent.prompt("hello")).text == "Hi."
