"""`python -m shard_jupyter.surfaces.agent_process.main`: hold agents for one client, until it goes.

It is given one end of a socket pair and serves the protocol on it. It ends, and every agent and
tool with it, when the client closes its end, when the process that started it has gone, on SIGTERM
and on the command `daemon.shutdown`.

hello is answered before the engine is loaded, which takes longer than all the rest of the start.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import socket
import sys
import threading
from collections.abc import Sequence
from typing import NoReturn

import anyio
from anyio.abc import UNIXSocketStream

from shard_jupyter.core.children.process_end import kill_all_descendants
from shard_jupyter.surfaces.agent_process.agent_host import CLOSE_SECONDS, AgentHost
from shard_jupyter.surfaces.agent_process.parent_watch import watch_parent
from shard_jupyter.surfaces.transports.server_connection import ServerConnection

OVERDUE_SECONDS = CLOSE_SECONDS + 3.0
OVERDUE = 1


def run_process(arguments: Sequence[str]) -> NoReturn:
    """Serve until the end, then leave; the exit code is 0 when all was closed in good order."""
    parser = argparse.ArgumentParser(prog="agent_process", description="Hold agents for a client.")
    parser.add_argument("--socket", type=int, required=True, help="descriptor of our end")
    parser.add_argument("--parent", type=int, required=True, help="process that started this one")
    options = parser.parse_args(arguments)
    # Ctrl-C at a terminal or an interrupted kernel is meant for the turn, not for the agents.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sock = socket.socket(fileno=options.socket)
    os.set_inheritable(options.socket, False)
    anyio.run(serve, sock, options.parent)
    sys.stderr.flush()
    # Nothing is left to be done; taking all modules apart takes longer than ending the agents did.
    os._exit(0)


async def serve(sock: socket.socket, parent: int) -> None:
    """Serve one client on `sock`, which is closed at the end."""
    loop = asyncio.get_running_loop()
    async with AgentHost() as host:
        stream = await UNIXSocketStream.from_socket(sock)
        connection = ServerConnection(stream, host)
        host.on_shutdown = connection.stop
        # Handlers stay to the end: a second signal changes nothing.
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, connection.stop)
        stop_watch = watch_parent(parent, connection.stop)

        async def close() -> None:
            _be_gone_in_time()
            await host.aclose()

        try:
            await connection.run(before_end=close)
        finally:
            stop_watch()


def _be_gone_in_time() -> None:
    """Whatever hangs, in an agent, a thread or a file system, nothing is left after this time."""
    timer = threading.Timer(OVERDUE_SECONDS, _leave)
    timer.daemon = True
    timer.start()


def _leave() -> None:
    kill_all_descendants()
    os._exit(OVERDUE)


if __name__ == "__main__":
    run_process(sys.argv[1:])
