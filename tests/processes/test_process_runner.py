from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import anyio
import pytest

from shard_jupyter.contracts.process_runner import ProcessOutcome, ProcessSpec
from shard_jupyter.core.processes import SystemProcessRunner
from shard_jupyter.errors import ToolFailed

pytestmark = pytest.mark.proves("A05")

ENV = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}


async def run(*argv: str, on_output=None, **options) -> ProcessOutcome:
    options = {"cwd": Path("/"), "env": ENV} | options
    with anyio.fail_after(20):
        return await SystemProcessRunner().run(ProcessSpec(argv=argv, **options), on_output)


def bash(command: str, **options):
    return run("bash", "-c", command, **options)


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def test_output_and_exit_code_come_back():
    outcome = await bash("echo out; echo err >&2; exit 3")
    assert outcome.exit_code == 3
    assert outcome.output.head == b"out\nerr\n"
    assert not outcome.timed_out
    assert outcome.killed == ()
    assert outcome.duration_seconds > 0


async def test_streams_stay_apart_when_they_are_not_merged():
    outcome = await bash("echo out; echo err >&2", merge_stderr=False)
    assert (outcome.output.head, outcome.stderr.head) == (b"out\n", b"err\n")


async def test_death_by_signal_counts_as_128_and_the_signal():
    outcome = await bash("kill -SEGV $$")
    assert outcome.exit_code == 128 + signal.SIGSEGV


async def test_stdin_is_empty_unless_given():
    assert (await run("cat")).output.head == b""
    assert (await run("cat", stdin=b"given")).output.head == b"given"


async def test_stdin_longer_than_a_pipe_arrives_whole():
    outcome = await run("wc", "-c", stdin=b"x" * 3_000_000)
    assert outcome.output.head.split() == [b"3000000"]


async def test_child_that_does_not_read_its_stdin_is_no_error():
    outcome = await run("true", stdin=b"x" * 3_000_000)
    assert outcome.exit_code == 0


async def test_environment_is_exactly_what_was_given(monkeypatch):
    monkeypatch.setenv("OURS", "leaks")
    outcome = await run("env", env={"PATH": ENV["PATH"], "A": "1"})
    names = {line.split(b"=")[0] for line in outcome.output.head.split()}
    assert names == {b"PATH", b"A", b"SHARD_CALL"}


async def test_child_leads_its_own_session_without_a_terminal():
    outcome = await bash("ps -o sid= -p $$; echo $$; : < /dev/tty")
    lines = outcome.output.head.split(b"\n")
    assert lines[0].strip() == lines[1]
    assert b"/dev/tty" in lines[2]


async def test_no_descriptor_of_ours_is_inherited():
    read_end, write_end = os.pipe()
    os.set_inheritable(write_end, True)
    outcome = await bash("ls /proc/self/fd")
    os.close(read_end)
    os.close(write_end)
    assert len(outcome.output.head.split()) == 4  # 0, 1, 2 and the one that ls opened


async def test_program_in_the_working_folder_is_not_found(tmp_path):
    program = tmp_path / "hidden-tool"
    program.write_text("#!/bin/sh\necho found\n", encoding="utf-8")
    program.chmod(0o755)
    with pytest.raises(ToolFailed, match="does not exist on the PATH"):
        await run("hidden-tool", cwd=tmp_path, env={"PATH": f".::{ENV['PATH']}"})


@pytest.mark.parametrize(
    ("argv", "options", "reason"),
    [
        (["no-such-program"], {}, "'no-such-program' does not exist on the PATH"),
        (["/etc/passwd"], {}, "could not be started: Permission denied"),
        (["true"], {"cwd": Path("/nowhere")}, "folder /nowhere cannot be used"),
        (["echo", "a\0b"], {}, "embedded null byte"),
        (["echo", "x" * 3_000_000], {}, "Argument list too long"),
    ],
)
async def test_what_cannot_be_started_is_said_in_words(argv, options, reason):
    before = open_descriptors()
    with pytest.raises(ToolFailed, match=reason):
        await run(*argv, **options)
    assert open_descriptors() == before


async def test_listener_hears_chunks_while_the_child_runs(tmp_path):
    fifo = tmp_path / "go"
    os.mkfifo(fifo)
    heard: list[bytes] = []
    first = anyio.Event()

    def listen(chunk: bytes) -> None:
        heard.append(chunk)
        first.set()

    async def let_go() -> None:
        await first.wait()
        await anyio.Path(fifo).write_bytes(b"go")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(let_go)
        # The child ends only after its first line was heard.
        outcome = await bash(f"echo one; cat {fifo}", on_output=listen)
    assert b"".join(heard) == outcome.output.head == b"one\ngo"


async def test_listener_does_not_hear_an_unmerged_stderr():
    heard: list[bytes] = []
    await bash("echo out; echo err >&2", merge_stderr=False, on_output=heard.append)
    assert heard == [b"out\n"]


async def test_time_out_keeps_what_was_printed():
    started = time.monotonic()
    outcome = await bash("echo early; sleep 60; echo late", timeout_seconds=0.3)
    assert outcome.timed_out
    assert outcome.exit_code is None
    assert outcome.output.head == b"early\n"
    assert time.monotonic() - started < 2.3


async def test_long_output_keeps_head_and_tail_and_spills_the_rest(tmp_path):
    spill = tmp_path / "out.txt"
    outcome = await run("seq", "100000", head_bytes=100, tail_bytes=50, spill_path=spill)
    whole = "".join(f"{n}\n" for n in range(1, 100_001)).encode()
    assert outcome.output.head == whole[:100]
    assert outcome.output.tail == whole[-50:]
    assert outcome.output.total_bytes == len(whole)
    assert outcome.output.spill_path == spill
    assert outcome.output.spill_complete
    assert spill.read_bytes() == whole
    assert spill.stat().st_mode & 0o777 == 0o600


async def test_short_output_spills_nothing(tmp_path):
    outcome = await bash("echo hi", spill_path=tmp_path / "out.txt")
    assert outcome.output.spill_path is None
    assert list(tmp_path.iterdir()) == []


async def test_spill_stops_at_its_limit_and_says_so(tmp_path):
    spill = tmp_path / "out.txt"
    outcome = await run(
        "seq", "100000", head_bytes=9, tail_bytes=9, spill_path=spill, max_spill_bytes=1000
    )
    assert not outcome.output.spill_complete
    assert spill.stat().st_size == 1000


async def test_both_streams_spill_to_files_of_their_own(tmp_path):
    spill = tmp_path / "out"
    outcome = await bash(
        "seq 1000; seq 2000 >&2", merge_stderr=False, head_bytes=9, tail_bytes=9, spill_path=spill
    )
    assert outcome.output.spill_path != outcome.stderr.spill_path
    assert outcome.stderr.spill_path.read_bytes().endswith(b"\n2000\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
async def test_disk_that_refuses_ends_the_file_and_not_the_run(tmp_path):
    outcome = await run(
        "seq", "100000", head_bytes=9, tail_bytes=9, spill_path=tmp_path / "missing" / "out"
    )
    assert outcome.exit_code == 0
    assert not outcome.output.spill_complete
    assert outcome.output.tail.endswith(b"\n100000\n"[-9:])


async def test_spilling_never_stops_the_event_loop(tmp_path):
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await anyio.sleep(0.005)
            ticks += 1

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(tick)
        outcome = await bash("yes | head -c 50M", spill_path=tmp_path / "out")
        tasks.cancel_scope.cancel()
    assert outcome.output.spill_path.stat().st_size == 50 << 20
    assert ticks > 3


async def test_many_runs_at_once_do_not_mix():
    outcomes = [None] * 20

    async def one(index: int) -> None:
        outcomes[index] = await bash(f"echo {index}; exit {index}")

    async with anyio.create_task_group() as tasks:
        for index in range(20):
            tasks.start_soon(one, index)
    assert [o.exit_code for o in outcomes] == list(range(20))
    assert [o.output.head for o in outcomes] == [f"{n}\n".encode() for n in range(20)]


async def test_runs_leak_no_descriptor():
    await bash("true")
    before = open_descriptors()
    for _ in range(20):
        await bash("echo x | cat", stdin=b"y")
    assert open_descriptors() == before


async def test_system_without_pidfd_runs_the_same(monkeypatch):
    monkeypatch.delattr(os, "pidfd_open")
    assert (await bash("echo hi; exit 3")).exit_code == 3
    outcome = await bash("echo early; sleep 60 & sleep 60", timeout_seconds=0.3)
    assert (outcome.timed_out, outcome.output.head) == (True, b"early\n")


@pytest.mark.parametrize("left", range(6))
async def test_running_out_of_descriptors_is_said_and_leaks_none(left):
    import resource

    before = open_descriptors()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(int(path.name) for path in Path("/proc/self/fd").iterdir())
    fillers = [os.dup(0) for _ in range(highest + 1 - before)]  # no gaps below the limit
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 1 + left, hard))
    said: list[str] = []
    try:
        said.append((await bash("echo hi", stdin=b"x")).output.head.decode())
    except ToolFailed as error:
        said.append(str(error))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for descriptor in fillers:
            os.close(descriptor)
    assert said[0] == "hi\n" or "Too many open files" in said[0]
    assert open_descriptors() == before


async def test_exit_status_of_somebody_elses_child_is_left_alone():
    def start_dead_child() -> int:
        argv = [sys.executable, "-c", "raise SystemExit(7)"]
        pid = os.posix_spawn(sys.executable, argv, {})
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        return pid

    other = await anyio.to_thread.run_sync(start_dead_child)
    await bash("sleep 60 & exit 0")
    _, status = await anyio.to_thread.run_sync(os.waitpid, other, 0)
    assert os.waitstatus_to_exitcode(status) == 7
