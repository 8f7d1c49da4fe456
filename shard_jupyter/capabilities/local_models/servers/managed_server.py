"""Start one server and know that it is ours. Blocks: it runs in the thread that owns the server."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from shard_jupyter.capabilities.local_models.engines.engine import Engine
from shard_jupyter.capabilities.local_models.servers.lease_files import write_lease
from shard_jupyter.capabilities.local_models.servers.program_check import check_program
from shard_jupyter.capabilities.local_models.servers.server_child import Order, ServerChild
from shard_jupyter.capabilities.local_models.servers.server_probe import (
    ServerWord,
    StrangerError,
    ask_server,
    is_answering,
    is_listening,
)
from shard_jupyter.capabilities.local_models.servers.server_spec import (
    RunningServer,
    ServerSpec,
    Tell,
)
from shard_jupyter.capabilities.local_models.servers.start_failure import (
    explain_exit,
    explain_silence,
    explain_stranger,
)
from shard_jupyter.capabilities.local_models.servers.usable_cores import count_server_threads
from shard_jupyter.contracts.process_runner import ChildStarter
from shard_jupyter.errors import ShardError, UserError

_PAUSE = 0.05
_KEY_BYTES = 32


@dataclass(frozen=True)
class StartLimits:
    """How long things may take, in seconds."""

    ready: float = 90.0
    first_word: float = 1.0
    next_word: float = 10.0
    grace: float = 5.0
    check: float = 5.0


class StartGivenUp(UserError):
    """Nobody waits for the server any more; seen by a caller only when all are stopped."""

    code = "closed"


@dataclass(frozen=True)
class StartRequest:
    """All that a start needs. `given_up` is set by whoever waits no more."""

    spec: ServerSpec
    engine: Engine
    state_home: Path
    start_child: ChildStarter
    tell: Tell
    given_up: threading.Event
    limits: StartLimits


class ManagedServer:
    """A server that is up and ours. May be asked and stopped from any thread."""

    def __init__(
        self, child: ServerChild, running: RunningServer, stop: Callable[[], None]
    ) -> None:
        self.running = running
        self.call_at_end = child.call_at_end
        self._child = child
        self._stop = stop
        self._lock = threading.Lock()
        self._stopped = False

    @property
    def pid(self) -> int:
        return self._child.pid

    def is_running(self) -> bool:
        """Look at the process; a dead one is reaped by that."""
        return self._child.poll() is None

    def is_up(self) -> bool:
        """Look at the process and whether it answers: one that is dying still runs for a while."""
        return self.is_running() and is_answering(self.running.base_url)

    def stop(self) -> None:
        """Stop it and wait for its end. Idempotent."""
        with self._lock:
            if not self._stopped:
                self._stopped = True
                self._stop()

    def let_go(self) -> None:
        self._child.let_go()


def start_server(request: StartRequest) -> ManagedServer:
    """Start the server; where a GPU was used and it failed, once more without.

    Raises:
        UserError: it did not come up (code `local_server`); the child is gone.
        StartGivenUp: nobody waits any more; the child is gone.
    """
    _fail_if_given_up(request)
    check_program(request.engine, request.start_child, request.limits.check)
    attempt = _Attempt(request, cpu_only=False)
    try:
        return attempt.run()
    except StartGivenUp:
        raise
    except UserError:
        if not attempt.used_gpu:
            raise
    request.tell(f"{request.spec.title} did not start with the GPU; trying without it.")
    return _Attempt(request, cpu_only=True).run()


def _fail_if_given_up(request: StartRequest) -> None:
    if request.given_up.is_set():
        raise StartGivenUp("The models of this process are stopped.")


class _Attempt:
    """One child, from its start until it is ready or gone."""

    def __init__(self, request: StartRequest, *, cpu_only: bool) -> None:
        self._request = request
        self._cpu_only = cpu_only
        self._key = secrets.token_hex(_KEY_BYTES)
        self._lease: Path | None = None
        self._child: ServerChild | None = None
        self._told = _Progress(request)
        self.used_gpu = False

    def run(self) -> ManagedServer:
        child = self._child = self._start()
        try:
            # Without the file only a child that outlives us against all odds stays undiscovered.
            with suppress(OSError):
                self._lease = write_lease(self._request.state_home, child.pid)
            word, url = self._wait_until_ready(child)
        except BaseException:
            self.used_gpu = not self._cpu_only and child.used_gpu
            self._end()
            raise
        return ManagedServer(child, self._describe(word, url), self._end)

    def _start(self) -> ServerChild:
        spec = self._request.spec
        order = Order(
            engine=self._request.engine,
            model_path=spec.model_path,
            context_tokens=spec.context_tokens,
            threads=count_server_threads(),
            key=self._key,
            cpu_only=self._cpu_only,
        )
        try:
            return ServerChild(order, self._request.start_child)
        except ShardError as error:
            raise UserError(
                f"The server for {spec.title} could not be started: {error.message}",
                code="local_server",
            ) from error

    def _wait_until_ready(self, child: ServerChild) -> tuple[ServerWord, str]:
        title, limits = self._request.spec.title, self._request.limits
        deadline = time.monotonic() + limits.ready
        while True:
            _fail_if_given_up(self._request)
            self._fail_if_ended(child)
            url = child.find_url()
            if url is not None:
                word = self._ask(child, url)
                self._fail_if_ended(child)
                if word is not None:
                    return word, url
            if time.monotonic() >= deadline:
                raise explain_silence(title, limits.ready, child.read_log(), secret=self._key)
            self._told.tell_if_due()
            child.wait_for_word(_PAUSE)

    def _ask(self, child: ServerChild, url: str) -> ServerWord | None:
        """Ask who it is, but give the key to nobody but our own child."""
        spec, engine = self._request.spec, self._request.engine
        port = urlsplit(url).port or 0
        if is_listening(child.pid, port) is False:
            self._fail_if_ended(child)
            raise explain_stranger(spec.title, f"port {port} belongs to another program")
        try:
            return ask_server(url, self._key, engine.dialect, spec.model_path)
        except StrangerError as error:
            raise explain_stranger(spec.title, str(error)) from error

    def _fail_if_ended(self, child: ServerChild) -> None:
        code = child.poll()
        if code is not None:
            title = self._request.spec.title
            raise explain_exit(title, code, child.read_log(), secret=self._key)

    def _describe(self, word: ServerWord, url: str) -> RunningServer:
        spec = self._request.spec
        context = word.context_tokens or spec.context_tokens
        if context < spec.context_tokens:
            self._request.tell(
                f"{spec.title} has a context of {context} tokens,"
                f" not of {spec.context_tokens} as planned."
            )
        return RunningServer(
            base_url=url,
            api_key=self._key,
            dialect=self._request.engine.dialect,
            context_tokens=context,
            supports_tools=word.supports_tools,
            chat_template=word.chat_template,
        )

    def _end(self) -> None:
        assert self._child is not None
        self._child.stop(self._request.limits.grace)
        if self._lease is not None:
            with suppress(OSError):
                self._lease.unlink()


class _Progress:
    """Says that a model is being loaded: not at once, and not too often."""

    def __init__(self, request: StartRequest) -> None:
        self._spec = request.spec
        self._tell = request.tell
        self._every = request.limits.next_word
        self._begun = time.monotonic()
        self._due = self._begun + request.limits.first_word
        self._count = 0

    def tell_if_due(self) -> None:
        now = time.monotonic()
        if now < self._due:
            return
        size = f"{self._spec.size_bytes / 1_000_000:.0f} MB"
        since = f" {now - self._begun:.0f} s" if self._count else ""
        self._tell(f"Loading {self._spec.title} ({size}) …{since}")
        self._count += 1
        self._due = self._begun + self._count * self._every
