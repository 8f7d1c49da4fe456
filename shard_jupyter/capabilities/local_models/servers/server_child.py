"""The child process of one server: its log, its lifeline, its end. Everything here blocks."""

from __future__ import annotations

import os
import re
import select
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from shard_jupyter.capabilities.local_models.engines.engine import (
    IDLE_SECONDS,
    KEY_VARIABLE,
    Engine,
    Launch,
)
from shard_jupyter.capabilities.local_models.servers.log_ring import LogRing
from shard_jupyter.contracts.process_runner import ChildStarter, LongLivedChild

_ROOT = Path("/")
_SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
_DRAIN_SECONDS = 2.0
_LONGEST_WORD = 4096
_LISTEN = re.compile(rb"^LISTEN (http://127\.0\.0\.1:\d{1,5})$")
_LISTEN_IN_LOG = re.compile(rb"listening on (http://127\.0\.0\.1:\d{1,5})\s*$")
_GPU_IN_LOG = re.compile(rb"cuda|vulkan\d|metal|rocm|sycl|gpu", re.IGNORECASE)


@dataclass(frozen=True)
class Order:
    """What child to start. `key` is a secret."""

    engine: Engine
    model_path: Path
    context_tokens: int
    threads: int
    key: str
    cpu_only: bool = False
    idle_seconds: int = IDLE_SECONDS


class ServerChild:
    """A started child. Its kernel-side death is bound to the thread that makes this object."""

    def __init__(self, order: Order, start_child: ChildStarter) -> None:
        """Start it.

        Raises:
            ShardError: the system cannot start it.
        """
        self._engine = order.engine
        self._words = bytearray()
        self._is_mute = False
        self._logged_url: bytes | None = None
        self._lifeline, theirs = socket.socketpair()
        self._lifeline.setblocking(False)
        read_end, write_end = os.pipe()
        launch = Launch(
            model_path=order.model_path,
            context_tokens=order.context_tokens,
            threads=order.threads,
            lifeline=theirs.fileno(),
            cpu_only=order.cpu_only,
            idle_seconds=order.idle_seconds,
        )
        try:
            self._child: LongLivedChild = start_child(
                order.engine.command(launch),
                sock=theirs,
                env=make_environment(order.engine, order.key),
                cwd=_ROOT,
                log=write_end,
                log_stdout=True,
            )
        except BaseException:
            os.close(read_end)
            self._lifeline.close()
            raise
        finally:
            os.close(write_end)
            theirs.close()
        self._log = LogRing(read_end, self._note_line)

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def used_gpu(self) -> bool:
        if self._engine.port_from_log:
            return _GPU_IN_LOG.search(self._log.tail) is not None
        self._read_words()
        return b"GPU" in bytes(self._words).split(b"\n")

    def poll(self) -> int | None:
        """Return how it has ended, None while it runs."""
        return self._child.poll()

    def read_log(self) -> bytes:
        """Return the end of the log; of a child that has ended, all that it wrote last."""
        if self._child.poll() is not None:
            self._log.join(_DRAIN_SECONDS)
        return self._log.tail

    def call_at_end(self, call: Callable[[], None]) -> None:
        """Call it when the child has ended or closed its output; or now."""
        self._log.call_at_end(call)

    def find_url(self) -> str | None:
        """Return where the child says it listens, None as long as it has not said so."""
        if self._engine.port_from_log:
            found = self._logged_url
        else:
            self._read_words()
            matches = (_LISTEN.match(line) for line in bytes(self._words).split(b"\n"))
            found = next((match[1] for match in matches if match), None)
        return None if found is None else found.decode("ascii")

    def wait_for_word(self, timeout_seconds: float) -> None:
        """Wait until it may have said something, at most so long."""
        if self._engine.port_from_log or self._is_mute or self.find_url() is not None:
            self._log.join(timeout_seconds)
        else:
            select.select([self._lifeline], [], [], timeout_seconds)

    def stop(self, grace_seconds: float) -> None:
        """Ask it to end, then end it; it is reaped when this returns."""
        if self._child.poll() is None:
            self._child.terminate()
            if self._child.wait(grace_seconds) is None:
                self._child.kill()
                self._child.wait(grace_seconds)
        self.let_go()
        self._log.join(_DRAIN_SECONDS)

    def let_go(self) -> None:
        """Close this end of the lifeline; in a forked copy that leaves the child as it is."""
        self._lifeline.close()

    def _note_line(self, line: bytes) -> None:
        if self._engine.port_from_log and self._logged_url is None:
            match = _LISTEN_IN_LOG.search(line)
            if match:
                self._logged_url = match[1]

    def _read_words(self) -> None:
        try:
            while len(self._words) < _LONGEST_WORD:
                chunk = self._lifeline.recv(1024)
                if not chunk:
                    self._is_mute = True
                    return
                self._words += chunk
        except BlockingIOError:
            return
        except OSError:  # the child is gone, as `poll` will say
            pass
        self._is_mute = True


def make_environment(engine: Engine, key: str) -> Mapping[str, str]:
    """Write the whole environment: nothing of ours goes into native code that reads a foreign file."""
    return {
        "PATH": _SYSTEM_PATH,
        "HOME": "/nonexistent",
        "LC_ALL": "C.UTF-8",
        **engine.environment(),
        KEY_VARIABLE: key,
    }
