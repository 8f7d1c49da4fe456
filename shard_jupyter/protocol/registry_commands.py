"""What a client may say to the daemon's registry, and what the registry says (Shard §7.3)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StrictBool, field_validator

from shard_jupyter.protocol.agent_commands import AgentCommand, Command, Cursor, Name
from shard_jupyter.protocol.handshake import OfferedTool, Role
from shard_jupyter.types.agents import AgentInfo, AgentStatus, RuntimeState
from shard_jupyter.types.decisions import AskSetting, Rule
from shard_jupyter.types.events import Event
from shard_jupyter.types.ids import Id

HeadlessPolicy = Literal["deny", "allow_if_rule_matches", "queue"]


class AgentListCommand(Command):
    type: Literal["agent.list"] = "agent.list"


class AgentCreate(Command):
    """Make an agent. Its working folder is fixed from here on."""

    type: Literal["agent.create"] = "agent.create"
    cwd: Annotated[str, Field(min_length=1)]
    """Absolute path of the workspace."""
    name: Name | None = None
    model: Name | None = None
    """Routing id; null: the configured default."""
    mode: Name | None = None
    skills: tuple[str, ...] = ()
    """Names of skills to load at the start."""
    permissions: tuple[Rule, ...] = ()
    """Rules for this agent, on top of the configured ones."""
    headless: HeadlessPolicy | None = None
    """What happens to a request that nobody can answer; null: as configured."""
    trusted: StrictBool = False
    """True: project files of `cwd` count, for this run of the agent only."""
    session_id: Id | None = None
    """Adopt an existing session instead of starting an empty one."""
    ask: AskSetting | None = None
    """Who decides what no rule covers, unless a prompt says otherwise; null: as configured."""
    environment: dict[str, str] | None = Field(default=None, repr=False)
    """The variables of the client: keys, PATH. Never stored; null: those of the server."""

    @field_validator("permissions")
    @classmethod
    def check_rules(cls, rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
        # Elsewhere an unknown field is ignored. In a rule it may be the condition that makes an
        # allowance narrow, so that ignoring it would allow more than was meant.
        if any(rule.model_extra for rule in rules):
            raise ValueError("a rule has a field that is not known here")
        return rules


class AgentKill(AgentCommand):
    """Stop the agent's process. Its session stays and can be attached to again."""

    type: Literal["agent.kill"] = "agent.kill"


class AgentAttach(AgentCommand):
    """Get an agent's state and then its events; starts it when it does not run."""

    type: Literal["agent.attach"] = "agent.attach"
    role: Role = "interactive"
    cursor: Cursor | None = None
    """The last `seq` that the client has; null: only what comes from now on."""
    tools: tuple[OfferedTool, ...] = ()
    """Tools that this client hosts for the agent; they vanish with the attachment."""
    trusted: StrictBool = False
    """Counts only where the attachment starts the agent."""


class AgentStatusCommand(AgentCommand):
    type: Literal["agent.status"] = "agent.status"


class DaemonShutdown(Command):
    """Stop the daemon and every agent."""

    type: Literal["daemon.shutdown"] = "daemon.shutdown"
    force: StrictBool = False
    """False: refused while a turn runs."""


class AgentSpawned(Event):
    type: Literal["agent.spawned"] = "agent.spawned"
    agent: AgentInfo


class AgentExited(Event):
    """The process has ended; the agent and its session are still there."""

    type: Literal["agent.exited"] = "agent.exited"
    exit_code: int | None = None
    """As the shell counts: 128 + signal; null: not known."""
    reason: str = ""


class AgentStatusChanged(Event):
    type: Literal["agent.status_changed"] = "agent.status_changed"
    status: AgentStatus
    runtime_state: RuntimeState
    pending: int = 0
    """How many requests wait for a person."""


REGISTRY_COMMANDS: tuple[type[Command], ...] = (
    AgentListCommand,
    AgentCreate,
    AgentKill,
    AgentAttach,
    AgentStatusCommand,
    DaemonShutdown,
)
REGISTRY_EVENTS: tuple[type[Event], ...] = (AgentSpawned, AgentExited, AgentStatusChanged)
