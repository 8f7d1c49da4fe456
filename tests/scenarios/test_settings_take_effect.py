"""What is configured or asked for reaches the place where it counts."""

from __future__ import annotations

import os
from pathlib import Path

import anyio
import pytest

from shard_jupyter import Shard
from shard_jupyter.errors import ShardError, UsageError, join_sentences
from shard_jupyter.testing.scripted_provider import ScriptedProvider, call, say

pytestmark = pytest.mark.proves("A19", "B11")
ALLOW_TOUCH = [
    {"effect": "allow", "tool": "bash", "command": {"program": "touch", "args": ["made"]}}
]


async def test_a_command_gets_the_configured_time(tmp_path: Path) -> None:
    provider = ScriptedProvider([call("bash", command="echo on; sleep 60"), say("ok")])
    overrides = {"tools.bash_timeout_seconds": 0.3}
    with anyio.fail_after(10):
        async with Shard(cwd=tmp_path, provider=provider, ask="yes", overrides=overrides) as agent:
            await agent.prompt("go")
    result = provider.requests[1].messages[-1].content[0].content[0].text
    assert "timed out after 0.3 s" in result


@pytest.mark.parametrize(("policy", "denied"), [("deny", 1), ("rules", 0), ("queue", 0)])
async def test_the_headless_policy_decides_where_nothing_else_is_said(
    policy: str, denied: int, tmp_path: Path
) -> None:
    """`deny` lets no allow rule count."""
    provider = ScriptedProvider([call("bash", command="touch made"), say("ok")])
    overrides = {"headless_policy": policy, "permissions.rules": ALLOW_TOUCH}
    with anyio.fail_after(10):
        async with Shard(cwd=tmp_path, provider=provider, overrides=overrides) as agent:
            result = await agent.prompt("go", check=False)
    assert len(result.denials) == denied


async def test_with_the_policy_queue_a_subscriber_may_answer(tmp_path: Path) -> None:
    provider = ScriptedProvider([call("bash", command="echo hi > made"), say("ok")])
    with anyio.fail_after(10):
        async with Shard(
            cwd=tmp_path, provider=provider, overrides={"headless_policy": "queue"}
        ) as agent:

            def answer(event) -> None:
                if event.type == "permission_request":
                    agent.session.answer_permission(event.request_id, "allow", by="test")

            agent.subscribe(answer)
            await agent.prompt("go")
    assert (tmp_path / "made").exists()


@pytest.mark.proves("E04")
async def test_a_given_provider_is_recorded_like_a_routed_one(tmp_path: Path) -> None:
    cassette = tmp_path / "run.jsonl"
    workspace = tmp_path / "a"
    workspace.mkdir()
    script = [call("write", path="x", content="y"), say("Done.")]
    with anyio.fail_after(10):
        async with Shard(
            cwd=workspace, provider=ScriptedProvider(script), record=cassette, ask="yes"
        ) as agent:
            await agent.prompt("write x")
        (workspace / "x").unlink()
        async with Shard(cwd=workspace, model=f"replay:{cassette}", ask="yes") as agent:
            assert (await agent.prompt("write x")).text == "Done."
    assert (workspace / "x").read_text(encoding="utf-8") == "y"


@pytest.mark.proves("E04")
@pytest.mark.parametrize("place", ["nowhere/run.jsonl", "."])
async def test_a_cassette_without_a_place_is_refused_before_anything_is_asked_or_written(
    place: str, tmp_path: Path
) -> None:
    provider = ScriptedProvider([])
    with anyio.fail_after(10), pytest.raises(UsageError, match="cannot be written"):
        async with Shard(cwd=tmp_path, provider=provider, record=tmp_path / place):
            pass
    assert not provider.requests
    assert not Path(os.environ["SHARD_HOME"]).exists()


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("No such key", "No such key. Set one."),
        ("No such key.", "No such key. Set one."),
        ("Really?", "Really? Set one."),
        ("", "Set one."),
    ],
)
def test_what_to_do_follows_as_a_sentence_of_its_own(message: str, told: str) -> None:
    assert str(ShardError(message, next_step="Set one.")) == told
    assert join_sentences(message, "") == message
