"""No descendant survives a run, whatever it does to get away and however the run ends."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import anyio
import psutil
import pytest

from shard_jupyter.contracts.process_runner import ProcessOutcome, ProcessSpec
from shard_jupyter.core.processes import SystemProcessRunner

pytestmark = pytest.mark.proves("A05", "H4f.57", "H4f.61")

ENV = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
STUBBORN = "trap '' TERM HUP INT; echo $$ > PID; while :; do sleep 1; done"
DOUBLE_FORK = """
import os, signal, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.close(1); os.close(2)
        open("PID", "w").write(f"{os.getpid()}\\n")
        time.sleep(60)
    os._exit(0)
os.wait()
"""
ESCAPES = {
    "background": "sleep 60 & echo $! > PID",
    "silent": "sleep 60 >/dev/null 2>&1 & echo $! > PID",
    "disowned": "nohup sleep 60 & disown; echo $! > PID",
    "setsid": "setsid bash -c 'echo $$ > PID; exec sleep 60' &",
    "setsid-silent": "setsid bash -c 'echo $$ > PID; exec sleep 60' >/dev/null 2>&1 &",
    "setsid-no-environment": 'env -i "$BASH" -c \'setsid bash -c "echo \\$\\$ > PID; exec sleep 60"\' &',
    "stubborn": f'bash -c "{STUBBORN.replace("$", chr(92) + "$")}" &',
    "stubborn-grandchild": f'(bash -c "{STUBBORN.replace("$", chr(92) + "$")}" & wait) &',
    "stubborn-setsid": f'(setsid bash -c "{STUBBORN.replace("$", chr(92) + "$")}" &)',
    "double-fork": f"'{sys.executable}' -c '{DOUBLE_FORK}'",
    "stopped": "sleep 60 & kill -STOP $!; echo $! > PID",
    "respawning": "bash -c 'trap \"setsid sleep 60 & exit\" TERM; echo $$ > PID; while :; do sleep 1; done' &",
}
READY = "; until [ -s PID ]; do sleep 0.01; done; echo ready"


async def run(command: str, folder: Path, on_output=None, **options) -> ProcessOutcome:
    spec = ProcessSpec(argv=("bash", "-c", command), cwd=folder, env=ENV, **options)
    with anyio.fail_after(20):
        return await SystemProcessRunner().run(spec, on_output)


def assert_nothing_left(folder: Path) -> None:
    pid = int((folder / "PID").read_text(encoding="utf-8"))
    assert not psutil.pid_exists(pid)
    mine = psutil.Process().children(recursive=True)
    assert [p for p in mine if _cwd_of(p) == str(folder)] == []
    # Neither alive nor dead; other tests' fixtures may have children of their own.
    assert [p.pid for p in mine if p.status() == psutil.STATUS_ZOMBIE] == []
    # Nor anywhere else on this machine.
    found = [p for p in psutil.process_iter() if _cwd_of(p) == str(folder)]
    assert found == []


def _cwd_of(process: psutil.Process) -> str:
    try:
        return process.cwd()
    except psutil.Error:
        return ""


def command_for(name: str) -> str:
    start = ESCAPES[name]
    return start + (READY[1:] if start.endswith("&") else READY)


@pytest.mark.parametrize("name", ESCAPES)
async def test_exit_leaves_no_survivor_and_names_it(name, tmp_path):
    started = time.monotonic()
    outcome = await run(command_for(name), tmp_path, timeout_seconds=15)
    assert time.monotonic() - started < 3
    assert outcome.exit_code == 0
    assert not outcome.timed_out
    assert b"ready\n" in outcome.output.head
    assert outcome.killed
    assert_nothing_left(tmp_path)


@pytest.mark.parametrize("name", ["background", "setsid-no-environment", "stubborn-setsid",
                                  "double-fork", "respawning"])  # fmt: skip
async def test_time_out_leaves_no_survivor(name, tmp_path):
    started = time.monotonic()
    outcome = await run(command_for(name) + "; sleep 60", tmp_path, timeout_seconds=1)
    assert time.monotonic() - started < 3
    assert outcome.timed_out
    assert b"ready\n" in outcome.output.head
    assert_nothing_left(tmp_path)


@pytest.mark.parametrize("name", ESCAPES)
async def test_cancellation_leaves_no_survivor(name, tmp_path):
    ready = anyio.Event()

    def listen(chunk: bytes) -> None:
        if b"ready" in chunk:
            ready.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run, command_for(name) + "; sleep 60", tmp_path, listen)
        with anyio.fail_after(10):
            await ready.wait()
        started = time.monotonic()
        tasks.cancel_scope.cancel()
    assert time.monotonic() - started < 2
    assert_nothing_left(tmp_path)


async def test_short_background_child_may_finish_its_output(tmp_path):
    outcome = await run("(sleep 0.02; echo late) & echo early", tmp_path)
    assert outcome.output.head == b"early\nlate\n"
    assert outcome.killed == ()


async def test_background_child_that_floods_the_pipe_does_not_hold_the_call(tmp_path):
    started = time.monotonic()
    outcome = await run("yes & echo $! > PID", tmp_path, timeout_seconds=15)
    assert time.monotonic() - started < 3
    assert outcome.killed == ("yes",)
    assert_nothing_left(tmp_path)


async def test_dead_orphans_are_reaped(tmp_path):
    command = "for i in 1 2 3 4 5; do (setsid true &); done; sleep 0.05; sleep 60 & echo $! > PID"
    await run(command, tmp_path)
    assert_nothing_left(tmp_path)


async def test_child_of_somebody_else_is_neither_killed_nor_reaped(tmp_path):
    argv = ["sleep", "60"]
    other = await anyio.to_thread.run_sync(
        lambda: os.posix_spawnp("sleep", argv, dict(os.environ), setsid=True)
    )
    try:
        outcome = await run("setsid sleep 60 & sleep 0.02", tmp_path)
        assert outcome.killed == ("sleep 60",)
        assert psutil.Process(other).status() != psutil.STATUS_ZOMBIE
    finally:
        os.kill(other, 9)
        await anyio.to_thread.run_sync(os.waitpid, other, 0)


async def test_parallel_runs_do_not_kill_each_others_children(tmp_path):
    (tmp_path / "a").mkdir()
    done: list[ProcessOutcome] = []

    async def long() -> None:
        done.append(await run("setsid sleep 0.4 & wait; echo whole", tmp_path))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(long)
        for _ in range(4):
            outcome = await run("setsid sleep 60 & :", tmp_path / "a")
            assert outcome.killed == ("sleep 60",) or outcome.killed == ("setsid sleep 60",)
    assert done[0].output.head == b"whole\n"
    assert done[0].killed == ()


async def test_orphans_are_adopted_only_while_something_runs(tmp_path):
    await run("true", tmp_path)
    script = "import os,time\nif os.fork()==0:\n    time.sleep(0.2); print(os.getppid(), flush=True); os._exit(0)\n"
    read_end, write_end = os.pipe()
    actions = [(os.POSIX_SPAWN_DUP2, write_end, 1)]
    argv = [sys.executable, "-c", script]

    def start_and_wait() -> None:
        pid = os.posix_spawn(sys.executable, argv, dict(os.environ), file_actions=actions)
        os.waitpid(pid, 0)

    await anyio.to_thread.run_sync(start_and_wait)
    os.close(write_end)
    parent = await anyio.to_thread.run_sync(os.read, read_end, 100)
    os.close(read_end)
    assert int(parent) != os.getpid()


LOOP_GOES_DOWN = """
import asyncio, os, sys
from pathlib import Path
from shard_jupyter.contracts.process_runner import ProcessSpec
from shard_jupyter.core.processes import SystemProcessRunner

async def main():
    ready = asyncio.Event()
    command = "setsid bash -c 'trap \"\" TERM; echo $$ > PID; while :; do sleep 1; done' & " + sys.argv[1]
    spec = ProcessSpec(argv=("bash", "-c", command), cwd=Path.cwd(), env=dict(os.environ))
    task = asyncio.create_task(SystemProcessRunner().run(spec, lambda chunk: ready.set()))
    await ready.wait()
    task.cancel()
    await asyncio.sleep(0.05)  # the kill has begun and the child ignores it

asyncio.run(main())
"""


async def test_loop_that_goes_down_in_the_middle_of_a_kill_leaves_no_survivor(tmp_path):
    wait = "until [ -s PID ]; do sleep 0.01; done; echo ready; sleep 60"
    argv = (sys.executable, "-c", LOOP_GOES_DOWN, wait)
    environment = {**ENV, "PYTHONPATH": ":".join(sys.path)}
    outer = await SystemProcessRunner().run(
        ProcessSpec(argv=argv, cwd=tmp_path, env=environment, timeout_seconds=15)
    )
    assert outer.exit_code == 0, outer.output.head
    assert outer.killed == ()
    assert_nothing_left(tmp_path)
