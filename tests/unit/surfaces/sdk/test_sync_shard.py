from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from shard_jupyter.errors import AgentBusy, AgentClosed, TurnFailed, UnknownMode, UsageError
from shard_jupyter.surfaces.sdk.approvals import ApprovalAnswer
from shard_jupyter.surfaces.sdk.sync_shard import SyncShard
from shard_jupyter.testing.scripted_provider import ScriptedProvider, call, fail, hang, say

pytestmark = pytest.mark.proves("B11")
ROOT = Path(__file__).parent.parent.parent.parent.parent


def test_a_plain_script_prompts_approves_and_reads(tmp_path: Path) -> None:
    provider = ScriptedProvider([call("bash", command="echo x > f"), say("done")])
    types = []
    agent = SyncShard(
        cwd=tmp_path,
        provider=provider,
        on_approval=lambda request: ApprovalAnswer(decision="allow"),
    )
    agent.subscribe(lambda event: types.append(event.type))
    with agent:
        assert agent.prompt("go").text == "done"
        assert agent.usage().model_calls == 2
        agent.set_mode("plan")
        assert agent.session_id
    assert (tmp_path / "f").exists()
    assert "turn_end" in types


def test_errors_come_out_as_they_are(tmp_path: Path) -> None:
    with SyncShard(cwd=tmp_path, provider=ScriptedProvider([fail("auth")])) as agent:
        with pytest.raises(TurnFailed):
            agent.prompt("go")
        with pytest.raises(UsageError):
            agent.prompt("")
        with pytest.raises(UnknownMode):
            agent.set_mode("nothing")
    wrong = SyncShard(cwd=tmp_path, provider=ScriptedProvider([]), mode="x")
    with pytest.raises(UnknownMode), wrong:
        pass


def test_outside_of_its_with_it_says_how_to_open_it(tmp_path: Path) -> None:
    agent = SyncShard(cwd=tmp_path, provider=ScriptedProvider([]))
    for _ in range(2):
        with pytest.raises(AgentClosed, match="with SyncShard"):
            agent.prompt("x")
        with pytest.raises(AgentClosed):
            agent.usage()
        if agent._shard._was_entered:
            break
        with agent:
            pass
    with pytest.raises(UsageError, match="used before"), agent:
        pass


def test_another_thread_can_stop_the_turn(tmp_path: Path) -> None:
    started = threading.Event()
    with SyncShard(cwd=tmp_path, provider=ScriptedProvider([hang()])) as agent:
        agent.subscribe(lambda event: started.set() if event.type == "status" else None)

        def stop() -> None:
            started.wait(10)
            with pytest.raises(AgentBusy):
                agent.prompt("a second one")
            assert agent.interrupt()

        thread = threading.Thread(target=stop)
        thread.start()
        result = agent.prompt("go", check=False)
        thread.join(10)
    assert result.outcome == "interrupted"


SCRIPT = """
import sys
from shard_jupyter.surfaces.sdk.sync_shard import SyncShard
from shard_jupyter.testing.scripted_provider import ScriptedProvider, call, say

def watch(event):
    if event.type == "tool_progress":
        print("started", flush=True)

provider = ScriptedProvider([call("bash", command="echo on; sleep 61.25"), say("next")])
with SyncShard(cwd=sys.argv[1], provider=provider, ask="yes") as agent:
    agent.subscribe(watch)
    try:
        agent.prompt("go")
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    print(agent.prompt("again").text, flush=True)
"""


def test_control_c_ends_the_turn_and_the_next_prompt_works(tmp_path: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(SCRIPT), str(tmp_path)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ,
        start_new_session=True,
    )
    with child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"started\n"
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=20)
    assert (out, err) == (b"interrupted\nnext\n", b"")
    assert child.returncode == 0
