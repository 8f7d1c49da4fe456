"""How often a turn waits for the disk, and in which order things get there (DESIGN §6)."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from shard_jupyter import Shard
from shard_jupyter.store import group_commit
from shard_jupyter.testing.scripted_provider import ScriptedProvider, call, say

pytestmark = pytest.mark.proves("A11")


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Notes each wait for the disk that was not over when it began; the real wait is made."""
    made: list[str] = []
    wait = group_commit.Commit.wait

    async def noted(commit: group_commit.Commit) -> None:
        if not commit.is_done:
            made.append("wait")
        await wait(commit)

    monkeypatch.setattr(group_commit.Commit, "wait", noted)
    return made


async def count_waits(tmp_path: Path, waits: list[str], tool: str, **arguments: str) -> int:
    provider = ScriptedProvider([call(tool, **arguments), say("done")])
    with anyio.fail_after(20):
        async with Shard(cwd=tmp_path, provider=provider, ask="yes") as agent:
            waits.clear()
            await agent.prompt("go")
            return len(waits)


async def test_a_prompt_with_one_shell_call_waits_at_most_three_times(tmp_path, waits) -> None:
    assert 1 <= await count_waits(tmp_path, waits, "bash", command="true") <= 3


async def test_a_prompt_that_only_reads_waits_only_for_its_end(tmp_path, waits) -> None:
    assert await count_waits(tmp_path, waits, "ls", path=".") == 1
