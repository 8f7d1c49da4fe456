"""The approval callback: as people write it, and as it goes wrong."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import anyio
import pytest

from shard_jupyter.surfaces.sdk.approvals import ApprovalAnswer
from shard_jupyter.surfaces.sdk.shard import Shard
from shard_jupyter.testing.scripted_provider import ScriptedProvider, call, say
from shard_jupyter.types.decisions import Rule
from shard_jupyter.types.events import PermissionRequest

pytestmark = pytest.mark.proves("B11", "A06")
WRITE = call("write", path="a.txt", content="x")


async def run(folder: Path, callback: Any, **options: Any) -> str:
    """Return what the model was told of its call."""
    provider = ScriptedProvider([WRITE, say("ok")])
    with anyio.fail_after(10):
        async with Shard(cwd=folder, provider=provider, on_approval=callback, **options) as agent:
            await agent.prompt("go", check=False)
    return provider.requests[1].messages[-1].content[0].content[0].text


async def test_a_plain_function_may_block_and_answer(tmp_path: Path) -> None:
    threads: list[int] = []

    def ask(request: PermissionRequest) -> ApprovalAnswer:
        threads.append(threading.get_ident())
        return ApprovalAnswer(decision="allow")

    assert "Created" in await run(tmp_path, ask)
    assert threads != [threading.get_ident()]


async def test_any_callable_that_gives_something_to_await_will_do(tmp_path: Path) -> None:
    class Ask:
        async def __call__(self, request: PermissionRequest) -> ApprovalAnswer:
            return ApprovalAnswer(decision="deny", note="by the object")

    assert "by the object" in await run(tmp_path, Ask())
    assert "by the object" in await run(tmp_path, lambda request: Ask()(request))


async def raise_it(request: PermissionRequest) -> ApprovalAnswer:
    raise LookupError("half \udce9")


async def give_nothing(request: PermissionRequest) -> Any:
    return None


async def widen(request: PermissionRequest) -> ApprovalAnswer:
    return ApprovalAnswer(decision="allow_always", rule=Rule(effect="allow", tool="*"))


@pytest.mark.parametrize("callback", [raise_it, give_nothing, widen, lambda request: True])
async def test_a_callback_that_goes_wrong_denies_and_says_why(
    tmp_path: Path, callback: Any
) -> None:
    told = await run(tmp_path, callback)
    assert "the approval callback failed" in told
    told.encode("utf-8")
    assert not (tmp_path / "a.txt").exists()


async def test_a_person_may_change_the_arguments(tmp_path: Path) -> None:
    async def edit(request: PermissionRequest) -> ApprovalAnswer:
        arguments = {**request.arguments, "content": "mine\n"}
        return ApprovalAnswer(decision="allow", arguments=arguments)

    await run(tmp_path, edit)
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == "mine\n"


async def test_a_question_that_is_over_ends_its_callback(tmp_path: Path) -> None:
    ended: list[str] = []

    async def wait(request: PermissionRequest) -> ApprovalAnswer:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append(request.request_id)
        raise AssertionError

    told = await run(tmp_path, wait, overrides={"ask_timeout_seconds": 0.05})
    assert "nobody answered in time" in told
    assert len(ended) == 1


async def test_a_callback_may_stop_the_turn(tmp_path: Path) -> None:
    agents: list[Shard] = []
    tasks = len(asyncio.all_tasks())

    async def stop(request: PermissionRequest) -> ApprovalAnswer:
        await agents[0].interrupt()
        return ApprovalAnswer(decision="allow")

    with anyio.fail_after(10):
        async with Shard(
            cwd=tmp_path, provider=ScriptedProvider([WRITE]), on_approval=stop
        ) as agent:
            agents.append(agent)
            result = await agent.prompt("go", check=False)
    assert result.outcome == "interrupted"
    assert not (tmp_path / "a.txt").exists()
    assert len(asyncio.all_tasks()) == tasks
