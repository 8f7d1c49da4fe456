"""However it comes to an end: no server is left, none is a zombie, and nobody else's is touched."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import psutil
import pytest

from shard_jupyter.capabilities.local_models.engines.engine import KEY_VARIABLE, Launch
from shard_jupyter.capabilities.local_models.engines.launch_command import make_command
from shard_jupyter.capabilities.local_models.servers.lease_files import (
    FOLDER,
    end_orphans,
    find_place,
    write_lease,
)
from tests.child_watch import alive
from tests.conftest import PACKAGE
from tests.fakes.fake_engine import SITE, FakeEngine, ignore, make_spec, places_in, pool_of

pytestmark = [pytest.mark.proves("A13", "L5.lease"), pytest.mark.usefixtures("nothing_left")]
LIMIT = 40.0


@contextmanager
def holder(folder: Path, engine: str, end: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Another process that holds a server; its own id and that of the server."""
    command = [sys.executable, "-m", "tests.processes.server_holder", str(folder), engine, end]
    root = str(PACKAGE.parent)
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": root, "HOME": str(folder)}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, env=environ, cwd=root) as process:
        assert process.stdout is not None
        try:
            yield process, int(process.stdout.readline())
        finally:
            process.kill()


def wait_until_gone(process: psutil.Process) -> None:
    deadline = time.monotonic() + 10
    while alive([process]):
        assert time.monotonic() < deadline, f"{process} still runs"
        time.sleep(0.01)


@pytest.mark.proves("L5.pdeathsig")
@pytest.mark.parametrize("engine", ["package", "program"])
def test_a_server_dies_with_its_owner_when_that_is_killed(tmp_path: Path, engine: str) -> None:
    with holder(tmp_path, engine, "wait") as (owner, pid):
        server = psutil.Process(pid)
        owner.kill()
        owner.wait(LIMIT)
        wait_until_gone(server)


def test_an_owner_that_just_ends_stops_its_server_first(tmp_path: Path) -> None:
    with holder(tmp_path, "package", "exit") as (owner, pid):
        assert owner.wait(LIMIT) == 0
        assert not psutil.pid_exists(pid)
    assert list((tmp_path / "state" / FOLDER).iterdir()) == []


def test_a_forked_copy_of_the_owner_leaves_the_server_alone(tmp_path: Path) -> None:
    with holder(tmp_path, "package", "fork") as (owner, pid):
        assert owner.stdout is not None
        assert owner.stdout.readline() == b"up\n"
        owner.communicate(b"x", LIMIT)
        assert not psutil.pid_exists(pid)


@pytest.mark.proves("L5.pdeathsig")
async def test_a_server_ends_when_its_lifeline_does(tmp_path: Path) -> None:
    """As on a system whose kernel does not see to it."""
    pool = pool_of(FakeEngine())
    with anyio.fail_after(LIMIT):
        lease = await pool.acquire(make_spec(tmp_path), ignore, places=places_in(tmp_path))
        lease._server.let_go()
        while psutil.pid_exists(lease.server_pid):
            await anyio.sleep(0.01)
        await lease.release()


@pytest.mark.proves("L5.pdeathsig")
def test_a_child_whose_parent_was_gone_before_it_looked_ends(tmp_path: Path) -> None:
    model = tmp_path / "a.gguf"
    model.touch()  # it could serve
    ours, theirs = socket.socketpair()
    with ours, theirs:
        launch = Launch(model, 512, 1, theirs.fileno(), parent_pid=1)
        command = make_command("xllamacpp", launch, site=SITE)
        done = subprocess.run(
            command,
            pass_fds=[theirs.fileno()],
            env={KEY_VARIABLE: "k"},
            timeout=LIMIT,
            check=False,
        )
    assert done.returncode == 1


@pytest.mark.proves("L5.sigterm", "L6.15")
async def test_a_server_that_is_asked_ends_in_good_order_and_soon(tmp_path: Path) -> None:
    pool = pool_of(FakeEngine())
    with anyio.fail_after(LIMIT):
        lease = await pool.acquire(make_spec(tmp_path), ignore, places=places_in(tmp_path))
        begun = time.monotonic()
        await lease.release()
    assert time.monotonic() - begun < 3
    assert lease._server._child._child.exit_code == 0


@pytest.mark.proves("L5.sigterm", "L6.15")
async def test_a_server_that_does_not_listen_is_killed_after_its_grace(tmp_path: Path) -> None:
    from shard_jupyter.capabilities.local_models.servers.managed_server import StartLimits

    pool = pool_of(FakeEngine(stubborn=True), StartLimits(grace=0.5))
    with anyio.fail_after(LIMIT):
        lease = await pool.acquire(make_spec(tmp_path), ignore, places=places_in(tmp_path))
        await lease.release()
    assert lease._server._child._child.exit_code == 128 + signal.SIGKILL
    assert not psutil.pid_exists(lease.server_pid)


@contextmanager
def sleeper() -> Iterator[psutil.Process]:
    """Something that runs as a server without an owner would."""
    with subprocess.Popen(["sleep", "60"]) as process:
        try:
            yield psutil.Process(process.pid)
        finally:
            process.kill()


def note(folder: Path, server: psutil.Process, **changed: Any) -> Path:
    """Write a lease file as its owner left it; by default that owner is gone."""
    path = write_lease(folder, server.pid)
    assert path is not None
    said = json.loads(path.read_bytes())
    said.update({"parent_pid": 2**22 - 1, **changed})
    path.write_text(json.dumps(said), encoding="utf-8")
    return path


@pytest.mark.proves("L6.14")
def test_a_server_whose_owner_is_gone_is_ended(tmp_path: Path) -> None:
    with sleeper() as server:
        path = note(tmp_path, server)
        assert end_orphans(tmp_path) == 1
        assert not alive([server])
        assert not path.exists()


def test_an_owner_whose_number_another_process_has_now_counts_as_gone(tmp_path: Path) -> None:
    with sleeper() as server:
        note(tmp_path, server, parent_pid=os.getpid(), parent_started=1.0)
        assert end_orphans(tmp_path) == 1


@pytest.mark.proves("L6.14")
def test_the_server_of_a_living_owner_is_left_alone(tmp_path: Path) -> None:
    with sleeper() as server:
        path = write_lease(tmp_path, server.pid)
        assert path is not None
        assert end_orphans(tmp_path) == 0
        assert alive([server])
        assert path.exists()


@pytest.mark.parametrize("changed", [{"started": 1.0}, {"pid": 2**22 - 2}])
def test_a_process_that_only_has_the_number_of_a_server_is_left_alone(
    tmp_path: Path, changed: dict[str, Any]
) -> None:
    with sleeper() as server:
        path = note(tmp_path, server, **changed)
        assert end_orphans(tmp_path) == 0
        assert alive([server])
        assert not path.exists()


def test_what_another_machine_or_container_noted_is_left_alone(tmp_path: Path) -> None:
    with sleeper() as server:
        path = note(tmp_path, server, place="elsewhere")
        assert find_place() != "elsewhere"
        assert end_orphans(tmp_path) == 0
        assert alive([server])
        assert path.exists()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": "x"}', '{"pid": 1e99}'])
def test_a_damaged_note_is_removed_and_harms_nobody(tmp_path: Path, text: str) -> None:
    folder = tmp_path / FOLDER
    folder.mkdir(parents=True)
    (folder / "1.json").write_text(text, encoding="utf-8")
    assert end_orphans(tmp_path) == 0
    assert list(folder.iterdir()) == []


async def test_the_first_server_of_a_process_ends_those_without_an_owner(tmp_path: Path) -> None:
    with sleeper() as server:
        await anyio.to_thread.run_sync(note, tmp_path / "state", server)
        pool = pool_of(FakeEngine())
        with anyio.fail_after(LIMIT):
            lease = await pool.acquire(make_spec(tmp_path), ignore, places=places_in(tmp_path))
            assert await anyio.to_thread.run_sync(alive, [server]) == []
            await lease.release()


async def test_a_home_that_cannot_be_written_does_not_keep_a_server_from_starting(
    tmp_path: Path,
) -> None:
    (tmp_path / "state").write_bytes(b"a file")
    pool = pool_of(FakeEngine())
    with anyio.fail_after(LIMIT):
        lease = await pool.acquire(make_spec(tmp_path), ignore, places=places_in(tmp_path))
        await lease.release()
