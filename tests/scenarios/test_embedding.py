"""`Shard` and `SyncShard` inside a program of somebody else, over the wire."""

from __future__ import annotations

import signal
import subprocess
import sys

import psutil
import pytest

from tests.scenarios.command_line import MODELS, Person, read_entries

pytestmark = pytest.mark.proves("B11", "A03")
SCRIPT = """
import sys
from shard_jupyter import SyncShard

def tell(event):
    if event.type == "tool_progress":
        print("on", flush=True)

with SyncShard(cwd=".", model=sys.argv[1], ask="yes") as agent:
    agent.subscribe(tell)
    try:
        agent.prompt("go @@shell echo on; setsid sleep 84.5 & sleep 84.5 @@")
    except KeyboardInterrupt:
        print("stopped", flush=True)
    print(agent.prompt("again @@shell echo y>>AGAIN @@").outcome)
"""
EVENTS = """
import anyio, sys
from shard_jupyter import Shard

async def main():
    async with Shard(cwd=".", model=sys.argv[1], ask="yes") as agent, anyio.create_task_group() as group:
        events = agent.events()
        types = []
        async def read():
            async for event in events:
                types.append(event.type)
        group.start_soon(read)
        await agent.prompt("go @@shell echo x>>MARK @@")
        await agent.aclose()
    print(types[0], types.count("turn_end"), types.count("tool_result"), types[-1])

anyio.run(main)
"""
TWO = """
import anyio, sys
from shard_jupyter import Shard
from shard_jupyter.errors import AgentBusy

async def one(model, name):
    async with Shard(cwd=".", model=model, ask="yes") as agent:
        return await agent.prompt(f"{model} @@shell echo {name}>>{name} @@times 5 @@quirk same_id @@")

async def main():
    async with anyio.create_task_group() as group:
        for number, model in enumerate(sys.argv[1:] * 2):
            group.start_soon(one, model, f"m{number}")
    async with Shard(cwd=".", model=sys.argv[1], ask="yes") as agent, anyio.create_task_group() as group:
        group.start_soon(lambda: agent.prompt("go @@quirk hang_start @@", check=False))
        while agent.session.active_turn is None:
            await anyio.sleep(0)
        try:
            await agent.prompt("me too")
        except AgentBusy as error:
            print("busy:", error)
        await agent.interrupt()

anyio.run(main)
"""


def start(person: Person, script: str, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", script, *arguments],
        env=person.environ,
        cwd=person.project,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def run(person: Person, script: str, *arguments: str) -> tuple[int, str, str]:
    with start(person, script, *arguments) as child:
        try:
            out, err = child.communicate(timeout=50)
        finally:
            child.kill()
    return child.returncode, out.decode(), err.decode()


@pytest.mark.parametrize("model", MODELS)
def test_ctrl_c_stops_the_turn_of_a_plain_script_which_can_go_on(
    model: str, person: Person
) -> None:
    with start(person, SCRIPT, model) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == b"on\n"
            child.send_signal(signal.SIGINT)
            out, err = child.communicate(timeout=30)
        finally:
            child.kill()
    assert (child.returncode, err) == (0, b"")
    assert out.split(b"\n")[-3:] == [b"stopped", b"completed", b""]
    assert person.lines("AGAIN") == ["y"]
    assert not any(p.info["cmdline"] == ["sleep", "84.5"] for p in psutil.process_iter(["cmdline"]))
    ends = [e for e in read_entries(person.sessions()[0]) if e["type"] == "turn_end"]
    assert [entry["outcome"] for entry in ends] == ["interrupted", "completed"]


def test_events_come_as_an_iterator_that_ends_with_the_agent(person: Person) -> None:
    code, out, err = run(person, EVENTS, MODELS[0])
    assert (code, err, out) == (0, "", "turn_start 1 1 status\n")


def test_agents_of_one_process_do_not_mix_and_one_runs_one_turn(person: Person) -> None:
    code, out, err = run(person, TWO, *MODELS)
    assert (code, err) == (0, "")
    assert out.startswith("busy: A turn is running. Steer it")
    for number in range(6):
        assert person.lines(f"m{number}") == [f"m{number}"] * 5
    assert len(person.sessions()) == 7
