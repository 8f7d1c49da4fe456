"""What a turn works with, and what it notes down. Data only; `turn_loop` drives it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import anyio

from shard_jupyter.contracts.clock import Clock
from shard_jupyter.contracts.compactor import Compactor
from shard_jupyter.contracts.event_bus import EventBus
from shard_jupyter.contracts.mode import TurnEndExtractor
from shard_jupyter.contracts.permission_gate import PermissionGate
from shard_jupyter.contracts.process_runner import ProcessRunner
from shard_jupyter.contracts.provider import Provider
from shard_jupyter.contracts.tool_context import BlobStore, PathLocks
from shard_jupyter.core.limits.budget import Budget
from shard_jupyter.core.limits.pricing import Price
from shard_jupyter.core.modes.controller import ModeController
from shard_jupyter.core.permissions.grants import GrantTable
from shard_jupyter.core.permissions.permission_desk import PermissionDesk
from shard_jupyter.core.providers.retry import RetryPolicy
from shard_jupyter.core.sandbox.agent_sandbox import AgentSandbox
from shard_jupyter.core.steering import SteerQueue
from shard_jupyter.core.tools.tool_registry import ToolRegistry
from shard_jupyter.core.transcript import Transcript
from shard_jupyter.core.turn_state import Instruction, TurnEvent, TurnState, step
from shard_jupyter.types.content import ToolCallBlock
from shard_jupyter.types.decisions import AskSetting
from shard_jupyter.types.events import AgentEvent, Event
from shard_jupyter.types.turns import Denial, TurnResult
from shard_jupyter.types.usage import UsageRecord, UsageTotals


@dataclass(frozen=True)
class TurnSettings:
    """Limits and policy. `ask_timeout_seconds` 0: an ask never expires."""

    ask: AskSetting = "rules"
    ask_timeout_seconds: float = 60.0
    max_rounds: int = 200
    max_output_tokens: int | None = None
    output_limit_bytes: int = 32_768
    bash_timeout_seconds: float = 120.0
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    budget: Budget = field(default_factory=Budget)


@dataclass
class AgentParts:
    """What an agent is made of. Put together by `bootstrap`, owned by the agent session."""

    agent_id: str
    cwd: Path
    environment: Mapping[str, str] = field(repr=False)
    scratch: Path
    provider: Provider
    price: Price | None
    registry: ToolRegistry
    gate: PermissionGate
    grants: GrantTable
    modes: ModeController
    extractors: Mapping[str, TurnEndExtractor]
    compactor: Compactor | None
    bus: EventBus
    transcript: Transcript
    steers: SteerQueue
    desk: PermissionDesk
    clock: Clock
    processes: ProcessRunner
    locks: PathLocks
    blobs: BlobStore
    settings: TurnSettings
    sandbox: AgentSandbox
    totals: UsageTotals = field(default_factory=UsageTotals)

    @property
    def model_id(self) -> str:
        return self.provider.route.model_id


@dataclass(frozen=True)
class TurnOptions:
    """What one turn does in another way than its agent.

    Attributes:
        ask: who decides what no rule covers; None: as the agent does.
        budget: what the turn itself may use, besides the budget of the agent.
        provider: stands around the agent's own, which it does not close; None: the agent's own.
    """

    ask: AskSetting | None = None
    budget: Budget = field(default_factory=Budget)
    provider: Provider | None = None


@dataclass
class Turn:
    """One turn at work.

    Attributes:
        scope: what runs is in it.
        timeout_seconds: after which the scope is cancelled; for the record.
        partial_output: the last of what each running call has printed.
        result: set when the turn has come to its end, before that is on disk.
        is_end_told: every client knows.
    """

    turn_id: str
    parts: AgentParts
    state: TurnState
    options: TurnOptions = field(default_factory=TurnOptions)
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    timeout_seconds: float | None = None
    is_interrupted: bool = False
    usage: UsageTotals = field(default_factory=UsageTotals)
    records: list[UsageRecord] = field(default_factory=list)
    denials: list[Denial] = field(default_factory=list)
    changed_paths: dict[str, None] = field(default_factory=dict)
    partial_output: dict[str, str] = field(default_factory=dict)
    context_tokens: int | None = None
    last_text: str = ""
    result: TurnResult | None = None
    is_end_told: bool = False

    @property
    def ask(self) -> AskSetting:
        return self.options.ask or self.parts.settings.ask

    @property
    def provider(self) -> Provider:
        return self.options.provider or self.parts.provider

    def interrupt(self) -> None:
        """Stop it; whoever runs it brings it to its recorded end."""
        self.is_interrupted = True
        self.scope.cancel()

    def advance(self, event: TurnEvent) -> tuple[Instruction, ...]:
        self.state, instructions = step(self.state, event)
        return instructions

    def emit(self, event: type[Event], **fields: Any) -> None:  # noqa: ANN401 - checked by the model
        """Send an event of this turn to all clients."""
        made = event(agent_id=self.parts.agent_id, turn_id=self.turn_id, **fields)
        self.parts.bus.emit(cast(AgentEvent, made))

    def note_denial(self, call: ToolCallBlock, reason: str, would_allow: str) -> None:
        self.denials.append(
            Denial(call_id=call.call_id, tool=call.name, reason=reason, would_allow=would_allow)
        )
