"""The process of a kernel: started with this Python, interrupted, ended with all that it started.

Everything here blocks.
"""

from __future__ import annotations

import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from shard_jupyter.core.children.peer import Peer
from shard_jupyter.core.processes import start_peer

_PACKAGE = Path(__file__).parents[2]
BOOT = (
    "import sys; sys.path.insert(0, sys.argv[1]); import shard_jupyter; del sys.path[0]; "
    "from shard_jupyter.surfaces.notebook_runs.kernel_main import run_kernel; "
    "run_kernel(sys.argv[2:])"
)
"""The package is the one that is loaded here; no file of the working folder can take its place."""
LOG_BYTES = 4000


class KernelProcess:
    """A running kernel. `end` has to be called.

    Attributes:
        connection: what a client needs to connect, as in a connection file.
    """

    def __init__(
        self, peer: Peer, lifeline: socket.socket, folder: Path, connection: dict[str, Any]
    ) -> None:
        self.connection = connection
        self._peer = peer
        self._lifeline = lifeline
        self._folder = folder

    @classmethod
    def start(cls, cwd: Path, environ: Mapping[str, str]) -> Self:
        """Start a kernel in `cwd` with the whole environment `environ`.

        Raises:
            ShardError: the system cannot start it.
        """
        from jupyter_client.connect import (  # noqa: PLC0415 - loads ZeroMQ
            write_connection_file,
        )

        folder = Path(tempfile.mkdtemp(prefix="shard-kernel-"))
        ours, theirs = socket.socketpair()
        try:
            file, connection = write_connection_file(
                str(folder / "kernel.json"), key=os.urandom(32).hex().encode()
            )
            peer = _start(cwd, environ, theirs, folder, file)
        except BaseException:
            ours.close()
            shutil.rmtree(folder, ignore_errors=True)
            raise
        finally:
            theirs.close()
        return cls(peer, ours, folder, dict(connection))

    @property
    def exit_code(self) -> int | None:
        return self._peer.exit_code

    def is_dead(self) -> bool:
        return self._peer.poll() is not None

    def interrupt(self) -> None:
        """Do what Ctrl-C does: the cell gets a KeyboardInterrupt, its commands end."""
        self._peer.interrupt_group()

    def wait(self, seconds: float) -> bool:
        """Wait for its end, at most so long; True: it has ended."""
        return self._peer.wait(seconds) is not None

    def end(self) -> None:
        """End it now if it still runs, and all that it has started. Idempotent."""
        if not self.is_dead():
            self._peer.kill()
            self._peer.wait(5.0)
        self._lifeline.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def last_words(self) -> str:
        """Return the last line that the process itself has written; empty for none."""
        try:
            log = _log_path(self._folder).read_bytes()[-LOG_BYTES:]
        except FileNotFoundError:
            return ""
        lines = [line.strip() for line in log.decode("utf-8", "replace").split("\n")]
        return next((line for line in reversed(lines) if line), "")


def _start(
    cwd: Path, environ: Mapping[str, str], lifeline: socket.socket, folder: Path, file: str
) -> Peer:
    command = [sys.executable, "-c", BOOT, str(_PACKAGE.parent), str(lifeline.fileno()), "-f", file]
    own = {"JPY_PARENT_PID": str(os.getpid())}
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    log = os.open(_log_path(folder), flags, 0o600)
    try:
        return start_peer(
            command,
            sock=lifeline,
            env={**environ, **own},
            cwd=cwd,
            log=log,
            log_stdout=True,
            leaves_nothing=True,
        )
    finally:
        os.close(log)


def _log_path(folder: Path) -> Path:
    return folder / "kernel.log"
