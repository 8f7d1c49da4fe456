"""Carries out what clients say to one agent.

Every method is called on the event loop. A prompt runs in a task of its own; its reply says that it
is on disk, its end is an event.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
from pydantic import ValidationError

from shard_jupyter import __version__
from shard_jupyter.core.event_bus import report_fault
from shard_jupyter.core.system_clock import SystemClock
from shard_jupyter.errors import (
    AgentBusy,
    Bug,
    ClientVisibleError,
    ShardError,
    StorageError,
    UsageError,
)
from shard_jupyter.protocol.agent_commands import (
    Abort,
    AgentCommand,
    Command,
    PermissionResponse,
    Prompt,
    SessionOp,
    SetMode,
    SetModel,
    Steer,
    Subscribe,
)
from shard_jupyter.protocol.handshake import Role
from shard_jupyter.protocol.registry_commands import AgentAttach, AgentStatusCommand
from shard_jupyter.protocol.remote_error import UNSUPPORTED
from shard_jupyter.protocol.results import (
    Aborted,
    AnswerTaken,
    Attached,
    PromptAccepted,
    SessionOpDone,
    Subscribed,
)
from shard_jupyter.surfaces.agent_process.event_fan_out import EventFanOut
from shard_jupyter.surfaces.agent_process.session_page import make_page
from shard_jupyter.surfaces.transports.server_connection import Answer, Client
from shard_jupyter.types.agents import AgentInfo, AgentStatus
from shard_jupyter.types.decisions import Rule
from shard_jupyter.types.events import AgentEvent, StatusEvent, TurnEnd, TurnStart
from shard_jupyter.types.ids import new_id

if TYPE_CHECKING:
    from shard_jupyter.surfaces.sdk.shard import Shard

StartTask = Callable[[Callable[[], Coroutine[Any, Any, None]]], None]


@dataclass
class _RunningPrompt:
    """A prompt from its acceptance until all of it is written.

    Attributes:
        settled: set when it has started, or was refused.
        has_ended: its last event was sent; the next one may come.
        over: set when nothing of it runs any more.
    """

    turn_id: str
    settled: anyio.Event = field(default_factory=anyio.Event)
    over: anyio.Event = field(default_factory=anyio.Event)
    has_ended: bool = False
    refusal: ShardError | None = None


class AgentService:
    """Owned by the host. `name` is the host's to keep unique."""

    def __init__(self, shard: Shard, name: str, fan_out: EventFanOut, start: StartTask) -> None:
        self.name = name
        self.fan_out = fan_out
        self._shard = shard
        self._start = start
        self._status: AgentStatus = "idle"
        self._last_activity = ""
        self._prompt: _RunningPrompt | None = None
        self._changing = anyio.Lock()

    @property
    def agent_id(self) -> str:
        return self._shard.session.parts.agent_id

    @property
    def is_busy(self) -> bool:
        return self._prompt is not None and not self._prompt.has_ended

    def info(self) -> AgentInfo:
        parts = self._shard.session.parts
        return AgentInfo(
            id=parts.agent_id,
            name=self.name,
            session_id=self._shard.session_id,
            cwd=str(parts.cwd),
            model=self._shard.model,
            mode=self._shard.mode,
            status=self._status,
            runtime_state="running",
            usage=self._shard.usage(),
            pending=len(parts.desk.pending()),
            clients=len(self.fan_out),
            last_activity=self._last_activity or parts.transcript.last_timestamp,
            version=__version__,
        )

    def take_event(self, event: AgentEvent) -> None:
        """Note what an event says of the agent, and pass it on. Subscribed before it is opened."""
        self._last_activity = SystemClock().now().isoformat(timespec="milliseconds")
        if isinstance(event, StatusEvent):
            self._status = event.status
        elif isinstance(event, TurnEnd) and self._prompt is not None:
            self._prompt.has_ended = True
        self.fan_out.take(event)
        if isinstance(event, TurnStart) and self._prompt is not None:
            self._prompt.settled.set()

    async def carry_out(self, command: AgentCommand, client: Client) -> Answer:
        """Carry out one command.

        Raises:
            ShardError: becomes the error reply; `unsupported` for what only the daemon can do.
        """
        match command:
            case Prompt():
                return Answer(await self.prompt(command))
            case Abort():
                return Answer(await self.abort(command.turn_id))
            case Steer():
                return Answer(await self._shard.session.steer(command.turn_id, command.text))
            case PermissionResponse():
                return Answer(self._answer(command, client))
            case Subscribe():
                return self._subscribe(command.cursor, client, command.deltas)
            case AgentAttach():
                return self._attach(command, client)
            case AgentStatusCommand():
                return Answer(self.info())
            case SetMode() | SetModel():
                return Answer(await self._change(command))
            case SessionOp(op="list" | "grants" | "revoke"):
                return Answer(self._operate(command))
        raise unsupported(name_command(command), "It comes with the daemon.")

    async def prompt(self, command: Prompt) -> PromptAccepted:
        """Start a turn; returns when the prompt is on disk.

        Raises:
            AgentBusy: a turn runs.
            UserError: the prompt or one of its options cannot be used.
            StorageError: it cannot be written.
        """
        if command.when_busy == "queue" and self.is_busy:
            raise unsupported("a queue of prompts", "Send it when the turn has ended.")
        await self._be_free("Wait for its end, steer it or abort it.")
        prompt = self._prompt = _RunningPrompt(command.turn_id or new_id("turn"))

        async def run() -> None:
            await self._run(prompt, command)

        self._start(run)
        await prompt.settled.wait()
        if prompt.refusal is not None:
            raise prompt.refusal
        await self._be_on_disk(prompt)
        return PromptAccepted(turn_id=prompt.turn_id)

    async def _be_on_disk(self, prompt: _RunningPrompt) -> None:
        """Wait until the prompt is written. If it never will be, nothing of its turn runs on."""
        try:
            await self._shard.session.parts.transcript.wait_for_disk()
        except StorageError:
            await self._shard.session.interrupt(prompt.turn_id)
            await prompt.over.wait()
            raise

    async def _run(self, prompt: _RunningPrompt, command: Prompt) -> None:
        """Run the turn to its end; an exception after its start was told as its end."""
        try:
            async with self._changing:
                pass  # what was asked for before the prompt holds for it
            await self._shard.prompt(
                command.text,
                check=False,
                turn_id=prompt.turn_id,
                timeout_seconds=command.timeout_seconds,
                ask=command.ask,
                budget=command.budget,
                record=_record_path(command.record),
            )
        except ShardError as error:
            prompt.refusal = error
            if isinstance(error, Bug):
                report_fault("A turn has a fault.", error)
        except Exception as error:  # noqa: BLE001 - one agent's fault must not end the others
            report_fault("A turn has a fault.", error)
            prompt.refusal = Bug(f"The turn broke off: {type(error).__name__}.")
        finally:
            self._prompt = None
            prompt.settled.set()
            prompt.over.set()

    async def abort(self, turn_id: str | None) -> Aborted:
        """Stop the turn, or one that is only just starting; returns when its end is on disk."""
        prompt = self._prompt
        if prompt is None or (turn_id is not None and turn_id != prompt.turn_id):
            return Aborted(interrupted=False)
        await prompt.settled.wait()
        return Aborted(interrupted=await self._shard.session.interrupt(prompt.turn_id))

    async def aclose(self) -> None:
        """Stop what runs and let go of everything. Idempotent."""
        await self._shard.aclose()

    async def _be_free(self, next_step: str) -> None:
        """Wait until nothing of the last turn runs any more.

        Raises:
            AgentBusy: its end has not been told yet.
        """
        while self._prompt is not None:
            if not self._prompt.has_ended:
                raise AgentBusy("A turn is running.", next_step=next_step)
            await self._prompt.over.wait()

    async def _change(self, command: SetMode | SetModel) -> AgentInfo:
        await self._be_free("Change it when it has ended.")
        # A prompt that comes from here on stands in line behind it.
        async with self._changing:
            if isinstance(command, SetMode):
                self._shard.set_mode(command.mode)
            else:
                await self._shard.switch_model(command.model)
        return self.info()

    def _answer(self, command: PermissionResponse, client: Client) -> AnswerTaken:
        if not self.fan_out.may_answer(client):
            return AnswerTaken(accepted=False)
        accepted = self._shard.session.answer_permission(
            command.request_id,
            command.decision,
            by=client.name,
            rule=_read_rule(command.rule),
            keep=command.keep,
            note=command.note,
            arguments=command.arguments,
        )
        return AnswerTaken(accepted=accepted)

    def _subscribe(
        self, cursor: int | None, client: Client, deltas: bool, role: Role | None = None
    ) -> Answer:
        self.fan_out.cursor.check(cursor)
        self.fan_out.add(client, role=role, deltas=deltas)
        return Answer(Subscribed(cursor=self.fan_out.cursor.newest), self.fan_out.release_held)

    def _attach(self, command: AgentAttach, client: Client) -> Answer:
        if command.tools:
            raise unsupported("tools of clients", "Attach without them.")
        subscribed = self._subscribe(command.cursor, client, deltas=True, role=command.role)
        session = self._shard.session
        attached = Attached(
            agent=self.info(),
            cursor=self.fan_out.cursor.newest,
            active_turn=session.active_turn,
            permission_requests=session.parts.desk.pending(),
        )
        return Answer(attached, subscribed.then)

    def _operate(self, command: SessionOp) -> SessionOpDone:
        grants = self._shard.session.parts.grants
        if command.op == "grants":
            return SessionOpDone(grants=grants.of_session())
        if command.op == "revoke":
            return SessionOpDone(grants=grants.revoke(command.grant_id))
        branch = self._shard.session.parts.transcript.branch()
        return make_page(branch, command.entry_id, command.limit)


def unsupported(what: str, next_step: str) -> ClientVisibleError:
    """What a server says that has no such part."""
    message = f"{what}: this server does not support that"
    return ClientVisibleError(message, code=UNSUPPORTED, next_step=next_step)


def name_command(command: Command) -> str:
    """Return its type as it stands on the wire, with the operation where it has one."""
    tag = str(type(command).model_fields["type"].default)
    return f"{tag} {command.op}" if isinstance(command, SessionOp) else tag


def _read_rule(raw: dict[str, Any] | None) -> Rule | None:
    """Read a rule; what is none was not offered, and is refused as that."""
    try:
        return Rule.model_validate(raw)
    except ValidationError:
        return None


def _record_path(record: str | None) -> Path | None:
    if record is None:
        return None
    path = Path(record)
    if not path.is_absolute():
        raise UsageError(
            f"The cassette {record!r} is no absolute path.", next_step="Name it from the root on."
        )
    return path
