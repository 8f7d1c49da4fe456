"""A long-lived child: what it inherits, how it ends, and that nothing of it is left."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from shard_jupyter.core.children.peer import Peer
from shard_jupyter.core.processes import start_peer
from shard_jupyter.errors import ShardError
from tests.child_watch import alive, assert_no_new_child, children

pytestmark = pytest.mark.proves("B01")
WAIT = 20.0
INHERITED = """
import json, os, socket, sys
sock = socket.socket(fileno=int(sys.argv[1]))
fds = {fd: os.readlink(f"/proc/self/fd/{fd}") for fd in map(int, os.listdir("/proc/self/fd"))
       if os.path.exists(f"/proc/self/fd/{fd}")}
said = {"fds": fds, "sid": os.getsid(0), "pid": os.getpid(), "cwd": os.getcwd(),
        "path": os.environ.get("PATH"), "names": sorted(os.environ)}
sock.sendall(json.dumps(said).encode() + b"\\n")
sock.recv(1)
"""
WITH_CHILDREN = """
import socket, subprocess, sys
sock = socket.socket(fileno=int(sys.argv[1]))
more = [subprocess.Popen(["sleep", "60"]),
        subprocess.Popen(["sleep", "60"], start_new_session=True),
        subprocess.Popen(["bash", "-c", "trap '' TERM; setsid sleep 60 & wait"])]
sock.sendall(b"ready\\n")
sock.recv(1)
"""
STUBBORN = """
import signal, socket, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
sock = socket.socket(fileno=int(sys.argv[1]))
sock.sendall(b"ready\\n")
while True: signal.pause()
"""


class Started:
    def __init__(self, code: str, *, log: int | None = None, **env: str) -> None:
        self.ours, theirs = socket.socketpair()
        self.ours.settimeout(WAIT)
        argv = (sys.executable, "-c", code, str(theirs.fileno()))
        with theirs:
            self.peer = start_peer(
                argv, sock=theirs, env={"PATH": os.environ["PATH"], **env}, cwd=Path("/"), log=log
            )

    def line(self) -> bytes:
        with self.ours.makefile("rb") as reader:
            return reader.readline()


Start = Callable[..., Started]


@pytest.fixture
def start() -> Iterator[Start]:
    """Whatever a test starts must have ended, and nothing of it may be left."""
    before = children()
    started: list[Started] = []

    def make(code: str, **options: Any) -> Started:
        started.append(Started(code, **options))
        return started[-1]

    yield make
    for one in started:
        one.ours.close()
    assert_no_new_child(before)


def test_the_child_has_a_session_of_its_own_and_nothing_but_the_socket(
    start: Start, tmp_path: Path
) -> None:
    other = os.open(tmp_path, os.O_RDONLY)
    os.set_inheritable(other, True)
    started = start(INHERITED, PATH="/usr/bin:relative:.:/bin")
    said = json.loads(started.line())
    os.close(other)
    started.ours.close()
    assert started.peer.wait(WAIT) == 0
    sockets = [place for place in said["fds"].values() if place.startswith("socket:")]
    assert len(sockets) == 1
    assert said["fds"]["0"] == said["fds"]["1"] == said["fds"]["2"] == "/dev/null"
    assert str(tmp_path) not in said["fds"].values()
    assert said["sid"] == said["pid"] == started.peer.pid
    assert (said["cwd"], said["path"]) == ("/", "/usr/bin:/bin")
    assert set(said["names"]) - {"LC_CTYPE"} == {"PATH", "SHARD_CALL"}


def test_what_it_says_on_stderr_goes_to_the_log(start: Start, tmp_path: Path) -> None:
    with (tmp_path / "log").open("wb") as file:
        started = start("import sys; sys.exit('it broke')", log=file.fileno())
    assert started.peer.wait(WAIT) == 1
    assert (tmp_path / "log").read_bytes() == b"it broke\n"


def test_waiting_gives_up_after_its_time_and_the_child_lives(start: Start) -> None:
    started = start("import signal; signal.pause()")
    assert started.peer.wait(0.05) is None
    assert (started.peer.poll(), started.peer.exit_code) == (None, None)
    started.peer.terminate()
    assert started.peer.wait(WAIT) == 128 + signal.SIGTERM


def test_a_child_that_does_not_end_when_asked_is_killed(start: Start) -> None:
    started = start(STUBBORN)
    started.line()
    started.peer.terminate()
    assert started.peer.wait(0.1) is None
    started.peer.kill()
    assert started.peer.wait(WAIT) == 128 + signal.SIGKILL


def test_signals_after_the_end_reach_nobody_else(start: Start) -> None:
    started = start("")
    assert started.peer.wait(WAIT) == 0
    started.peer.terminate()
    started.peer.kill()
    assert started.peer.wait(WAIT) == 0


def test_what_a_killed_child_has_started_ends_with_it(start: Start) -> None:
    started = start(WITH_CHILDREN)
    assert started.line() == b"ready\n"
    below = psutil.Process(started.peer.pid).children(recursive=True)
    assert len(below) >= 3
    os.kill(started.peer.pid, signal.SIGKILL)
    assert started.peer.wait(WAIT) == 128 + signal.SIGKILL
    assert alive(below) == []


def test_a_system_without_waitid_ends_and_reaps_it_all_the_same(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "waitid")
    started = start(WITH_CHILDREN)
    started.line()
    below = psutil.Process(started.peer.pid).children(recursive=True)
    assert started.peer.poll() is None
    started.peer.kill()
    assert started.peer.wait(WAIT) == 128 + signal.SIGKILL
    assert alive(below) == []


def test_many_threads_may_wait_for_one_end(start: Start) -> None:
    started = start("import signal; signal.pause()")
    codes: list[int | None] = []
    threads = [
        threading.Thread(target=lambda: codes.append(started.peer.wait(WAIT))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    started.peer.kill()
    for thread in threads:
        thread.join(WAIT)
    assert codes == [128 + signal.SIGKILL] * 8


def test_a_child_that_somebody_else_has_reaped_counts_as_ended(start: Start) -> None:
    started = start("")
    os.waitpid(started.peer.pid, 0)
    assert started.peer.wait(WAIT) is not None


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_copy_of_the_starter_neither_ends_nor_reaps_it(start: Start) -> None:
    started = start("import signal; signal.pause()")
    copy = os.fork()
    if copy == 0:
        os._exit(use_as_a_copy(started.peer))
    assert os.waitpid(copy, 0)[1] == 0
    assert started.peer.poll() is None
    started.peer.kill()
    assert started.peer.wait(WAIT) == 128 + signal.SIGKILL


def use_as_a_copy(peer: Peer) -> int:
    peer.kill()
    peer.terminate()
    return 0 if peer.wait(WAIT) is None else 1


def test_a_program_that_is_not_there_is_told_in_words() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, pytest.raises(ShardError, match="could not be started") as caught:
        start_peer(("/no/such/program",), sock=theirs, env={}, cwd=Path("/"))
    assert caught.value.code == "not_started"
