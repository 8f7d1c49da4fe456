"""The disk fails in the middle of a turn, or the process dies in a tool: nothing is made up."""

from __future__ import annotations

import os
import resource
import signal
import sys
import textwrap
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from shard_jupyter.contracts.tool_context import ToolContext
from shard_jupyter.core.calls.call_permission import STRICTNESS
from shard_jupyter.errors import StorageError
from shard_jupyter.testing.scripted_provider import call, calls, hang, say
from shard_jupyter.types.events import AgentEvent, PermissionRequest
from shard_jupyter.types.tool_results import ToolResult, text_result
from tests.agent_rig import AgentRig, open_agent
from tests.faulty_tool import FaultyTool

pytestmark = pytest.mark.proves("A03", "A11")
ROOT = Path(__file__).parent.parent.parent


@contextmanager
def files_up_to(size: int) -> Iterator[None]:
    """Let no file of this process grow beyond `size` bytes: what a full disk looks like."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)


def allow_everything(rig: AgentRig) -> None:
    def answer(event: AgentEvent) -> None:
        if isinstance(event, PermissionRequest):
            rig.session.answer_permission(event.request_id, "allow", by="person")

    rig.session.subscribe(answer)


async def test_a_disk_that_fills_up_anywhere_in_a_turn_ends_it_and_is_told(tmp_path: Path) -> None:
    script = (
        calls(call("bash", command="echo 1 > one"), call("bash", command="echo 2 > two")),
        say("Done."),
    )
    failed = 0
    with anyio.fail_after(50):
        for room in range(0, 6000, 150):
            folder = tmp_path / str(room)
            async with open_agent(folder, *script, ask="inline") as rig:
                allow_everything(rig)
                start = len((rig.folder / "session.jsonl").read_bytes())
                with files_up_to(start + room):
                    failed += await prompt_on_a_full_disk(rig)
            if not failed:
                break
            async with open_agent(folder, say("on")) as rig:
                assert (await rig.session.prompt("go on")).text == "on"
    assert failed > 10


async def prompt_on_a_full_disk(rig: AgentRig) -> bool:
    """Return whether the disk was full; look at what was told and done."""
    try:
        await rig.session.prompt("go")
    except StorageError:
        pass
    else:
        return False
    assert [event.outcome for event in rig.seen("turn_end")] == ["failed"]
    assert rig.seen("turn_end")[0].error.code == "store_poisoned"
    assert rig.seen("status")[-1].status == "idle"
    assert rig.session.parts.desk.pending() == ()
    # What has no intent on the disk was not begun.
    intents = [entry["name"] for entry in rig.entries("tool_intent")]
    assert (rig.cwd / "one").exists() <= (len(intents) >= 1)
    assert (rig.cwd / "two").exists() <= (len(intents) >= 2)
    rig.events.clear()
    with pytest.raises(StorageError):
        await rig.session.prompt("again")
    assert rig.events == []
    return True


@pytest.mark.parametrize("way", ["interrupt", "timeout", "cancel"])
async def test_a_turn_that_is_stopped_on_a_full_disk_still_tells_its_end(
    tmp_path: Path, way: str
) -> None:
    with anyio.fail_after(10):
        async with open_agent(tmp_path, hang()) as rig, anyio.create_task_group() as tasks:
            started = anyio.Event()
            rig.session.subscribe(lambda event: event.type == "status" and started.set())
            errors: list[BaseException] = []

            async def prompt() -> None:
                seconds = 0.1 if way == "timeout" else None
                try:
                    await rig.session.prompt("go", timeout_seconds=seconds)
                except StorageError as error:
                    errors.append(error)

            with files_up_to(100):
                tasks.start_soon(prompt)
                await started.wait()
                if way == "interrupt":
                    assert await rig.session.interrupt()
                elif way == "cancel":
                    tasks.cancel_scope.cancel()
                while rig.session.active_turn is not None:
                    await anyio.lowlevel.cancel_shielded_checkpoint()
            assert len(rig.seen("turn_end")) == 1
            assert rig.seen("status")[-1].status == "idle"
            assert len(errors) == (way != "cancel")


DYING = """
import os, sys
from pathlib import Path
import anyio
from shard_jupyter.testing.scripted_provider import call, say
from shard_jupyter.types.tool_results import text_result
from tests.agent_rig import open_agent
from tests.faulty_tool import FaultyTool

def die(context):
    (context.cwd / "effect").write_text("once", encoding="utf-8")
    os.kill(os.getpid(), 9)

async def main(folder):
    tool = FaultyTool("odd", is_read_only=False, kind="write", on_execute=die)
    async with open_agent(folder, call("odd"), say("never"), tools=[tool], ask=sys.argv[2]) as rig:
        rig.session.subscribe(
            lambda event: event.type == "permission_request"
            and rig.session.answer_permission(event.request_id, "allow", by="person")
        )
        await rig.session.prompt("the prompt")

anyio.run(main, Path(sys.argv[1]))
"""


@pytest.mark.proves("H4b.27")
@pytest.mark.parametrize("ask", ["yes", "inline"])
async def test_a_process_that_dies_in_a_changing_tool_leaves_prompt_permission_and_intent(
    tmp_path: Path, ask: str
) -> None:
    argv = [sys.executable, "-c", textwrap.dedent(DYING), str(tmp_path), ask]
    died = await anyio.run_process(argv, cwd=ROOT, check=False)
    assert died.returncode == -signal.SIGKILL
    assert (tmp_path / "ws" / "effect").read_text(encoding="utf-8") == "once"
    (tmp_path / "ws" / "effect").unlink()
    with anyio.fail_after(10):
        async with open_agent(tmp_path, say("I cannot know.")) as rig:
            types = [entry["type"] for entry in rig.log()]
            decisions = [entry["decision"]["kind"] for entry in rig.entries("permission")]
            await rig.session.prompt("what happened?")
    messages = rig.provider.requests[0].messages
    assert types[-1] == "tool_intent"
    assert types[:3] == ["session", "message", "message"]
    assert decisions[-1] == "allow"
    assert set(decisions) <= set(STRICTNESS)
    result = messages[2].content[0]
    assert "uncertain" in result.content[0].text
    assert messages[0].text == "the prompt"
    # It is not run again: nobody knows whether that would be right.
    assert not (tmp_path / "ws" / "effect").exists()


@pytest.mark.skipif(sys.platform == "darwin", reason="fdatasync is what is slowed down")
async def test_an_answer_is_on_disk_before_even_a_reading_call_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the disk is at work on the answer, the call does not begin."""
    sync = os.fdatasync
    has_run = threading.Event()
    began_too_early: list[bool] = []

    def slow_sync(descriptor: int) -> None:
        log = (tmp_path / "session" / "session.jsonl").read_bytes()
        if b'"by":"person"' in log and not began_too_early:
            began_too_early.append(has_run.wait(0.3))
        sync(descriptor)

    def run(context: ToolContext) -> ToolResult:
        has_run.set()
        return text_result("ok")

    tool = FaultyTool(kind="network", on_execute=run)
    with anyio.fail_after(10):
        async with open_agent(tmp_path, call("odd"), say("ok"), tools=[tool], ask="inline") as rig:
            allow_everything(rig)
            monkeypatch.setattr(os, "fdatasync", slow_sync)
            await rig.session.prompt("go")
    assert began_too_early == [False]
    assert has_run.is_set()
