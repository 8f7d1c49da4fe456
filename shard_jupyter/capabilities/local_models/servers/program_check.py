"""A program that is not ours must answer `--version` before it is used the first time."""

from __future__ import annotations

import os
import socket
import threading
from contextlib import suppress
from pathlib import Path

from shard_jupyter.capabilities.local_models.engines.engine import Engine
from shard_jupyter.capabilities.local_models.servers.log_ring import LogRing
from shard_jupyter.capabilities.local_models.servers.server_child import make_environment
from shard_jupyter.capabilities.local_models.servers.start_failure import find_reason
from shard_jupyter.contracts.process_runner import ChildStarter
from shard_jupyter.errors import ShardError, UserError

_DRAIN_SECONDS = 1.0
_KILL_SECONDS = 5.0
_good: set[tuple[str, int, int]] = set()
"""Path, size and time of change of programs that have answered."""
_lock = threading.Lock()


def check_program(engine: Engine, start_child: ChildStarter, seconds: float) -> None:
    """Run the check of `engine`, unless this very file has passed it before.

    Raises:
        UserError: it cannot be started, fails, or does not end in time (code `needs_install`).
    """
    argv = engine.check_command()
    if not argv:
        return
    mark = _find_mark(argv[0])
    with _lock:
        if mark is not None and mark in _good:
            return
    problem = _find_problem(engine, argv, start_child, seconds)
    if problem:
        raise UserError(
            f"{argv[0]} is no usable llama-server: {problem}",
            code="needs_install",
            next_step="Name another one in local_models.server_path, or none.",
        )
    if mark is not None:
        with _lock:
            _good.add(mark)


def _find_problem(
    engine: Engine, argv: tuple[str, ...], start_child: ChildStarter, seconds: float
) -> str:
    ours, theirs = socket.socketpair()
    read_end, write_end = os.pipe()
    try:
        child = start_child(
            argv,
            sock=theirs,
            env=make_environment(engine, ""),
            cwd=Path("/"),
            log=write_end,
            log_stdout=True,
        )
    except ShardError as error:
        os.close(read_end)
        return error.message
    finally:
        os.close(write_end)
        theirs.close()
        ours.close()
    log = LogRing(read_end)
    code = child.wait(seconds)
    if code is None:
        child.kill()
        child.wait(_KILL_SECONDS)
        return f"it did not answer --version within {seconds:.0f} s."
    if code == 0:
        return ""
    log.join(_DRAIN_SECONDS)
    reason = find_reason(log.tail, secret="")
    return f"--version ended with code {code}{f' ({reason})' if reason else ''}."


def _find_mark(program: str) -> tuple[str, int, int] | None:
    with suppress(OSError):
        found = Path(program).stat()
        return program, found.st_size, found.st_mtime_ns
    return None
