"""Which agents a kernel has: making, finding, changing and restoring them.

Everything blocks and is called by one thread at a time (`KernelAgents` sees to that), but for
`agents` and `last`, which only read.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from shard_jupyter.errors import AgentClosed, ShardError
from shard_jupyter.protocol.agent_commands import Command, SetMode, SetModel
from shard_jupyter.protocol.registry_commands import AgentCreate, AgentKill, AgentStatusCommand
from shard_jupyter.surfaces.magics.agents.chosen_session import find_session, find_working_folder
from shard_jupyter.surfaces.magics.cell_options import CellOptions
from shard_jupyter.surfaces.transports.client_connection import ClientConnection
from shard_jupyter.surfaces.transports.worker import Worker
from shard_jupyter.types.agents import AgentInfo
from shard_jupyter.types.wire_model import WireModel

R = TypeVar("R", bound=WireModel)

SILENT = "worker_silent"
OPEN_SECONDS = 60.0
"""How long making an agent may take: the SDK of its provider is imported first."""
KILL_SECONDS = 5.0
"""How long ending an agent may take before its worker counts as standing still."""
ENDING_SECONDS = 5.0
"""How long a turn that was left behind may still take before its agent is ended."""
RESTARTED = (
    "The agent process had ended and was started again. "
    "Everything up to then is kept, and the conversation goes on."
)
UNTRUSTED = (
    "The agent was opened again, and the project is not trusted any more: "
    "its allow rules and its configuration do not count. --trust-project trusts it again."
)
ELSEWHERE = "The agent still works in the folder in which it was made; --new makes one in this one."


@dataclass
class KeptAgent:
    """An agent that this kernel has made.

    Attributes:
        is_open: the worker has it now; otherwise its session is there.
        trusted: it was opened with the project trusted, which ends when it is closed.
        has_lost_trust: that is so no more, and nobody was told.
    """

    info: AgentInfo
    environment: Mapping[str, str] = field(repr=False)
    is_open: bool = True
    trusted: bool = False
    has_lost_trust: bool = False
    ending: threading.Event | None = None
    """Set once a turn that its cell has left behind is over."""


@dataclass(frozen=True)
class OpenedAgent:
    """`notices` say what a person should know of how it was opened."""

    info: AgentInfo
    connection: ClientConnection
    notices: tuple[str, ...] = ()


def ask_worker(
    connection: ClientConnection,
    command: type[Command],
    result: type[R],
    *,
    timeout_seconds: float = 30.0,
    **fields: object,
) -> R:
    """Send a command and wait for its reply.

    Raises:
        ShardError: as the reply says; `worker_silent` when none came in time.
    """
    try:
        return connection.request(command, result, **fields).result(timeout_seconds)
    except TimeoutError:
        raise ShardError(
            "The agent process does not answer.",
            code=SILENT,
            next_step="Run the cell again; `%shard doctor` looks for the cause.",
        ) from None


class AgentRoster:
    def __init__(self, start_worker: Callable[..., Worker] = Worker.start) -> None:
        self.last: str | None = None
        self._start_worker = start_worker
        self._worker: Worker | None = None
        self._kept: dict[str, KeptAgent] = {}
        self._was_restarted = False

    def agents(self) -> tuple[AgentInfo, ...]:
        return tuple(kept.info for kept in tuple(self._kept.values()))

    def connect(self, environ: Mapping[str, str]) -> ClientConnection:
        """Return the connection to a worker that lives; a new one restores what there was."""
        worker = self._worker
        if worker is not None and worker.connection.is_open:
            return worker.connection
        if worker is not None:
            self._end_worker(worker)
            self._was_restarted = bool(self._kept)
        worker = self._worker = self._start_worker(client="kernel", environ=environ)
        for kept in self._kept.values():
            # One that cannot be opened now says why when it is used.
            with contextlib.suppress(ShardError):
                self._reopen(kept, environ, kept.info.model, kept.info.mode)
        return worker.connection

    def open(
        self, options: CellOptions, default_name: str, environ: Mapping[str, str]
    ) -> OpenedAgent:
        """Return the agent that a cell names, as the cell wants it."""
        name = options.agent or default_name
        try:
            return self._open(name, options, environ)
        except AgentClosed:
            # The worker has just ended, or somebody has ended this agent. Nothing was prompted.
            if (kept := self._kept.get(name)) is not None:
                kept.is_open = False
            return self._open(name, options, environ)

    def _open(self, name: str, options: CellOptions, environ: Mapping[str, str]) -> OpenedAgent:
        cwd = find_working_folder()
        self.connect(environ)
        kept = self._settle(name, environ)
        session_id = find_session(options.session, cwd, environ)
        if kept is not None and (options.new or session_id not in (None, kept.info.session_id)):
            with self._giving_back(kept, environ):
                kept = self._make(name, cwd, environ, options, session_id=session_id)
        elif kept is None:
            kept = self._make(name, cwd, environ, options, session_id=session_id)
        elif self._has_to_reopen(kept, environ, options):
            model, mode = options.model or kept.info.model, options.mode or kept.info.mode
            with self._giving_back(kept, environ):
                self._reopen(kept, environ, model, mode, trusted=options.trust_project)
        else:
            self._change(kept, options)
        self.last = name
        return OpenedAgent(kept.info, self._connection, self._take_notices(kept, cwd))

    def _has_to_reopen(
        self, kept: KeptAgent, environ: Mapping[str, str], options: CellOptions
    ) -> bool:
        wants_trust = options.trust_project and not kept.trusted
        return not kept.is_open or kept.environment != environ or wants_trust

    def _take_notices(self, kept: KeptAgent, cwd: str) -> tuple[str, ...]:
        was_restarted, self._was_restarted = self._was_restarted, False
        notices = [RESTARTED] if was_restarted else []
        if kept.has_lost_trust and not kept.trusted:
            notices.append(UNTRUSTED)
        kept.has_lost_trust = False
        if kept.info.cwd != cwd:
            notices.append(ELSEWHERE)
        return tuple(notices)

    def leave_behind(self, agent_id: str, ending: threading.Event) -> None:
        """A turn of the agent goes on without its cell; `ending` is set when it is over."""
        for kept in tuple(self._kept.values()):
            if kept.info.id == agent_id:
                kept.ending = ending

    def note(self, reply: WireModel) -> None:
        """Keep what a reply says of an agent: a cell must know of a mode that a line has changed."""
        for kept in self._kept.values():
            if isinstance(reply, AgentInfo) and kept.info.id == reply.id:
                kept.info = reply

    def close(self) -> None:
        if self._worker is not None:
            self._end_worker(self._worker)

    def _end_worker(self, worker: Worker, timeout_seconds: float = 5.0) -> None:
        self._worker = None
        for kept in self._kept.values():
            kept.is_open, kept.ending = False, None
        worker.close(timeout_seconds)

    def _settle(self, name: str, environ: Mapping[str, str]) -> KeptAgent | None:
        """Return what is kept under a name, once nothing of an earlier cell runs in it."""
        kept = self._kept.get(name)
        if kept is not None and kept.ending is not None:
            if not kept.ending.wait(ENDING_SECONDS):
                self._kill(kept, environ)
            kept.ending = None
        return kept

    def _kill(self, kept: KeptAgent, environ: Mapping[str, str]) -> None:
        """End an agent; with the whole worker where that does not answer."""
        try:
            self._kill_politely(kept)
        except ShardError as error:
            if error.code != SILENT or self._worker is None:
                raise
            self._end_worker(self._worker, timeout_seconds=0.5)
            self._was_restarted = True
            self.connect(environ)
            self._kill_politely(kept)

    @contextlib.contextmanager
    def _giving_back(self, kept: KeptAgent, environ: Mapping[str, str]) -> Iterator[None]:
        """End an agent to make room; where what takes its place fails, it is there as before."""
        was_open, environment = kept.is_open, kept.environment
        self._kill(kept, environ)
        try:
            yield
        except ShardError as error:
            # If that fails too, it stays in the list, and the next cell opens it again.
            if was_open and error.code != SILENT:
                with contextlib.suppress(ShardError):
                    self._reopen(kept, environment, kept.info.model, kept.info.mode)
            raise

    def _kill_politely(self, kept: KeptAgent) -> None:
        if kept.is_open:
            ask_worker(
                self._connection,
                AgentKill,
                AgentInfo,
                timeout_seconds=KILL_SECONDS,
                agent_id=kept.info.id,
            )
            kept.is_open = False

    @property
    def _connection(self) -> ClientConnection:
        assert self._worker is not None
        return self._worker.connection

    def _make(
        self,
        name: str,
        cwd: str,
        environ: Mapping[str, str],
        options: CellOptions,
        *,
        session_id: str | None,
    ) -> KeptAgent:
        info = ask_worker(
            self._connection,
            AgentCreate,
            AgentInfo,
            timeout_seconds=OPEN_SECONDS,
            cwd=cwd,
            name=name,
            model=options.model,
            mode=options.mode,
            session_id=session_id,
            trusted=options.trust_project,
            environment=dict(environ),
        )
        kept = KeptAgent(info, dict(environ), trusted=options.trust_project)
        self._kept[name] = kept
        return kept

    def _reopen(
        self,
        kept: KeptAgent,
        environ: Mapping[str, str],
        model: str,
        mode: str,
        *,
        trusted: bool = False,
    ) -> None:
        """Open its session again: after the worker was lost, or with a changed environment.

        The project is trusted only if that is said now: trust is never remembered.
        """
        old = kept.info
        kept.info = ask_worker(
            self._connection,
            AgentCreate,
            AgentInfo,
            timeout_seconds=OPEN_SECONDS,
            cwd=old.cwd,
            name=old.name,
            model=model,
            mode=mode,
            session_id=old.session_id,
            trusted=trusted,
            environment=dict(environ),
        )
        kept.environment, kept.is_open = dict(environ), True
        kept.has_lost_trust = kept.has_lost_trust or (kept.trusted and not trusted)
        kept.trusted = trusted

    def _change(self, kept: KeptAgent, options: CellOptions) -> None:
        kept.info = ask_worker(
            self._connection, AgentStatusCommand, AgentInfo, agent_id=kept.info.id
        )
        if options.model is not None and options.model != kept.info.model:
            kept.info = ask_worker(
                self._connection,
                SetModel,
                AgentInfo,
                timeout_seconds=OPEN_SECONDS,
                agent_id=kept.info.id,
                model=options.model,
            )
        if options.mode is not None and options.mode != kept.info.mode:
            kept.info = ask_worker(
                self._connection, SetMode, AgentInfo, agent_id=kept.info.id, mode=options.mode
            )
