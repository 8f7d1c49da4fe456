"""The process that holds a kernel's agents, as the kernel sees it.

It is started with one socket and ends with it. What it starts for its tools ends with it as well,
also when it is killed.
"""

from __future__ import annotations

import atexit
import os
import socket
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Self

from shard_jupyter.core.processes import start_peer
from shard_jupyter.errors import AgentClosed, ShardError
from shard_jupyter.surfaces.transports.worker_log import WorkerLog

if TYPE_CHECKING:
    from shard_jupyter.core.children.peer import Peer
    from shard_jupyter.surfaces.transports.client_connection import ClientConnection

_PACKAGE = Path(__file__).parents[2]
HELLO_SECONDS = 30.0
LOST_SECONDS = 6.0
"""How long a process may go on after its connection is gone: it is ending its agents."""
KILL_SECONDS = 2.0
BOOT = (
    "import sys; sys.path.insert(0, sys.argv[1]); import shard_jupyter; del sys.path[0]; "
    "from shard_jupyter.surfaces.agent_process.main import run_process; "
    "run_process(sys.argv[2:])"
)
"""As `python -m shard_jupyter.surfaces.agent_process.main`, with two differences: the package is
the one that is loaded here, and no file of the working folder can take a module's place."""


class Worker:
    """Made by `start`, ended by `close`, which also happens at the exit of this process.

    Attributes:
        connection: closed when the process has ended, for whatever reason.
    """

    def __init__(self, peer: Peer, log: WorkerLog, connection: ClientConnection) -> None:
        self.connection = connection
        self._peer = peer
        self._log = log
        self._owner = os.getpid()
        self._closing = threading.Lock()
        atexit.register(self.close)

    @classmethod
    def start(cls, *, client: str, environ: Mapping[str, str] | None = None) -> Self:
        """Start the process and say hello; blocks for the answer.

        `environ` is its environment, that of this process if None; agents may be given others.

        Raises:
            ShardError: it cannot be started, or gave no answer.
        """
        environ = dict(os.environ if environ is None else environ)
        log = WorkerLog.open(environ)
        ours, theirs = socket.socketpair()
        with theirs, log:
            try:
                peer = start_peer(
                    _command(theirs.fileno()), sock=theirs, env=environ, cwd=Path("/"), log=log.fd
                )
            except BaseException:
                ours.close()
                raise
        try:
            return cls(peer, log, _say_hello(ours, client, peer, log))
        except BaseException as error:
            ours.close()
            peer.kill()
            _end(peer, log, KILL_SECONDS)
            if isinstance(error, AgentClosed):
                raise _not_started(error, log) from None
            raise

    @property
    def pid(self) -> int:
        return self._peer.pid

    @property
    def exit_code(self) -> int | None:
        """As a shell counts: 128 + signal. None while it runs."""
        return self._peer.poll()

    def close(self, timeout_seconds: float = 5.0) -> None:
        """End all agents in good order, then the process; after the time it is killed.

        Blocks until it is gone. Idempotent; in a forked copy of this process it does nothing.
        """
        if os.getpid() != self._owner:
            return
        with self._closing:
            self.connection.end_sending()
            _end(self._peer, self._log, timeout_seconds)
            self.connection.close()
            atexit.unregister(self.close)


def _command(descriptor: int) -> tuple[str, ...]:
    place = ("--socket", str(descriptor), "--parent", str(os.getpid()))
    return (sys.executable, "-P", "-c", BOOT, str(_PACKAGE.parent), *place)


def _say_hello(sock: socket.socket, client: str, peer: Peer, log: WorkerLog) -> ClientConnection:
    # Imported only now: it takes about as long as the start of the process, which is under way.
    from shard_jupyter.surfaces.transports.client_connection import (  # noqa: PLC0415
        ClientConnection,
    )

    def end() -> None:
        _end(peer, log, LOST_SECONDS)

    return ClientConnection.open(sock, client=client, timeout_seconds=HELLO_SECONDS, on_closed=end)


def _end(peer: Peer, log: WorkerLog, timeout_seconds: float) -> None:
    """Wait for the end of the process, or make it; it is reaped and leaves nothing behind."""
    if peer.wait(timeout_seconds) is None:
        peer.kill()
        peer.wait(KILL_SECONDS)
    if peer.exit_code == 0:
        log.remove_if_empty()


def _not_started(error: AgentClosed, log: WorkerLog) -> ShardError:
    said = log.last_line()
    reason = f"It said: {said}" if said else error.message
    return AgentClosed(
        f"The agent process could not be started. {reason}",
        code="not_started",
        next_step=f"{log.path} says more." if said else "`shard doctor` looks at the installation.",
    )
