"""The agents of this process: made, named, listed, closed (Shard §7.3).

Carries out the registry's commands and hands the others to the agent that they name. One agent's
failure never ends another's.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

from shard_jupyter import __version__
from shard_jupyter.core.children.process_tree import MARKER
from shard_jupyter.core.event_bus import report_fault
from shard_jupyter.errors import AgentBusy, AgentClosed, UsageError
from shard_jupyter.protocol.agent_commands import AgentCommand, Command, Rename
from shard_jupyter.protocol.envelope import EmptyResult
from shard_jupyter.protocol.handshake import Hello, Welcome, welcome
from shard_jupyter.protocol.registry_commands import (
    AgentCreate,
    AgentKill,
    AgentListCommand,
    DaemonShutdown,
)
from shard_jupyter.protocol.results import AgentList
from shard_jupyter.surfaces.agent_process.agent_service import (
    AgentService,
    name_command,
    unsupported,
)
from shard_jupyter.surfaces.agent_process.event_fan_out import Cursor, EventFanOut
from shard_jupyter.surfaces.transports.server_connection import Answer, Client
from shard_jupyter.types.agents import AgentInfo
from shard_jupyter.types.ids import new_id

if TYPE_CHECKING:
    from shard_jupyter.capabilities.cassettes.shelf import CassetteShelf
    from shard_jupyter.surfaces.sdk.shard import Shard

CLOSE_SECONDS = 4.0
"""What all agents together may take to end."""
SERVER = "agent-process"
_HEADLESS = {"deny": "deny", "allow_if_rule_matches": "rules", "queue": "queue"}


class AgentHost:
    """Implements `server_connection.Service`. Use it as an async context manager.

    Attributes:
        on_shutdown: what `daemon.shutdown` does, once it has its reply.
    """

    def __init__(self, on_shutdown: Callable[[], None] = lambda: None) -> None:
        self.on_shutdown = on_shutdown
        self._agents: dict[str, AgentService] = {}
        self._names: set[str] = set()
        self._cursor = Cursor()
        self._store_id = new_id("store")
        self._tasks: TaskGroup = anyio.create_task_group()
        self._engine: Engine | None = None
        self._loading = anyio.Lock()
        self._is_closed = False

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()
        self._tasks.cancel_scope.cancel()
        await self._tasks.__aexit__(kind, error, trace)

    def greet(self, hello: Hello) -> Welcome:
        if hello.tools:
            raise unsupported("tools of clients", "Say hello without them.")
        answer = welcome(hello, server=SERVER, server_version=__version__, store_id=self._store_id)
        self._tasks.start_soon(self._load_ahead)
        return answer

    async def carry_out(self, command: Command, client: Client) -> Answer:
        match command:
            case AgentListCommand():
                agents = tuple(agent.info() for agent in self._agents.values())
                return Answer(AgentList(agents=agents))
            case AgentCreate():
                return Answer(await self.create(command))
            case DaemonShutdown():
                return self._shut_down(force=command.force)
            case AgentKill():
                return Answer(await self._kill(self.find(command.agent_id)))
            case Rename():
                return Answer(self._rename(self.find(command.agent_id), command.name))
            case AgentCommand():
                return await self.find(command.agent_id).carry_out(command, client)
        raise unsupported(name_command(command), "It comes with the daemon.")

    def forget(self, client: Client) -> None:
        for agent in self._agents.values():
            agent.fan_out.remove(client)

    def find(self, agent_id: str) -> AgentService:
        """Return an agent.

        Raises:
            AgentClosed: there is none of that id.
        """
        try:
            return self._agents[agent_id]
        except KeyError:
            raise AgentClosed(
                "There is no such agent here.", next_step="agent.list names those that there are."
            ) from None

    async def create(self, command: AgentCreate) -> AgentInfo:
        """Open an agent. When it cannot be opened there is none, and no session.

        Raises:
            UserError: the name, the folder, the model, the mode or the session cannot be used.
            StorageError: the session cannot be opened.
        """
        if command.skills:
            raise unsupported("skills", "Make the agent without them.")
        name = self._reserve(command.name)
        try:
            agent = await self._open(command, name)
        except BaseException:
            self._names.discard(name)
            raise
        self._agents[agent.agent_id] = agent
        return agent.info()

    async def _open(self, command: AgentCreate, name: str) -> AgentService:
        options = shard_options(command)
        shard = (await self._load()).open_shard(**options)
        agent = AgentService(shard, name, EventFanOut(self._cursor), self._start)
        shard.subscribe(agent.take_event)
        await shard.__aenter__()
        if self._is_closed:
            await shard.aclose()
            raise AgentClosed("The agent process is ending.")
        return agent

    async def _load(self) -> Engine:
        async with self._loading:
            if self._engine is None:
                self._engine = await anyio.to_thread.run_sync(load_engine)
            return self._engine

    async def _load_ahead(self) -> None:
        try:
            await self._load()
        except ImportError as error:
            report_fault("The engine cannot be loaded.", error)  # each agent.create tells it again

    def _start(self, task: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._tasks.start_soon(task)

    def _reserve(self, wanted: str | None) -> str:
        if wanted is None:
            number = 1
            while f"agent-{number}" in self._names:
                number += 1
            wanted = f"agent-{number}"
        elif wanted in self._names:
            raise UsageError(
                f"There is an agent named {wanted!r} already.", next_step="Choose another name."
            )
        self._names.add(wanted)
        return wanted

    def _rename(self, agent: AgentService, name: str) -> AgentInfo:
        if name != agent.name:
            self._reserve(name)
            self._names.discard(agent.name)
            agent.name = name
        return agent.info()

    async def _kill(self, agent: AgentService) -> AgentInfo:
        """Close one agent. Its session stays, and `agent.create` can take it up again."""
        await agent.aclose()
        info = agent.info()
        if self._agents.pop(agent.agent_id, None) is not None:
            self._names.discard(agent.name)
        return info.model_copy(update={"status": "idle", "runtime_state": "stopped"})

    def _shut_down(self, *, force: bool) -> Answer:
        if not force and any(agent.is_busy for agent in self._agents.values()):
            raise AgentBusy("A turn is running.", next_step="Wait for its end, or use force.")
        return Answer(EmptyResult(), self.on_shutdown)

    async def aclose(self) -> None:
        """Close all agents at once. Idempotent; takes at most `CLOSE_SECONDS`."""
        self._is_closed = True
        with anyio.move_on_after(CLOSE_SECONDS, shield=True):
            async with anyio.create_task_group() as closing:
                for agent in self._agents.values():
                    closing.start_soon(_close, agent)
        self._agents.clear()


async def _close(agent: AgentService) -> None:
    try:
        await agent.aclose()
    except Exception as error:  # noqa: BLE001 - the others must still be closed
        report_fault("An agent could not be closed in good order.", error)


@dataclass(frozen=True)
class Engine:
    """What makes agents. All of this process record into the same cassettes."""

    shard: type[Shard]
    shelf: CassetteShelf

    def open_shard(self, **options: Any) -> Shard:  # noqa: ANN401 - the options of Shard, unchanged
        return self.shard(shelf=self.shelf, **options)


def load_engine() -> Engine:
    """Load it. That takes a while: call it in a thread."""
    from shard_jupyter.capabilities.cassettes.shelf import (  # noqa: PLC0415 - hello comes before
        CassetteShelf,
    )
    from shard_jupyter.surfaces.sdk.shard import Shard  # noqa: PLC0415 - hello comes before

    return Engine(Shard, CassetteShelf())


def shard_options(command: AgentCreate) -> dict[str, Any]:
    """Say in the words of `Shard` what a client asked for.

    Raises:
        UsageError: the folder is not named from the root on.
    """
    cwd = Path(command.cwd)
    if not cwd.is_absolute():
        raise UsageError(f"{command.cwd!r} is no absolute path.", next_step="Name the whole path.")
    environ = dict(os.environ if command.environment is None else command.environment)
    if MARKER in os.environ:
        # By this, whoever started this process finds what its tools have started.
        environ[MARKER] = os.environ[MARKER]
    return {
        "cwd": cwd,
        "environ": environ,
        "model": command.model,
        "mode": command.mode,
        "ask": command.ask,
        "session": command.session_id,
        "trust_project": command.trusted,
        "seen_from": cwd,
        "overrides": _overrides(command),
    }


def _overrides(command: AgentCreate) -> dict[str, Any]:
    overrides: dict[str, Any] = {}
    if command.headless is not None:
        overrides["headless_policy"] = _HEADLESS[command.headless]
    if command.permissions:
        rules = [rule.model_dump(mode="json", exclude_unset=True) for rule in command.permissions]
        overrides["permissions.rules"] = rules
    return overrides
