"""The seam of whatever answers a prompt (DESIGN §7): our loop, or a vendor's agent."""

from __future__ import annotations

from typing import Literal, Protocol

from shard_jupyter.contracts.event_bus import Subscriber, Unsubscribe
from shard_jupyter.types.refusals import Refusal
from shard_jupyter.types.turns import TurnResult
from shard_jupyter.types.usage import UsageTotals
from shard_jupyter.types.wire_model import WireModel


class RuntimeCapabilities(WireModel):
    """What a client may offer. A capability that is False is refused with `UsageError`."""

    steer: bool
    interrupt: bool
    resume: bool
    usage: bool
    modes: tuple[str, ...] = ()


class SteerReply(WireModel):
    """`injected`: it is in the turn's transcript. `conflict`: that turn does not run any more."""

    status: Literal["injected", "conflict"]
    turn_id: str
    reason: str = ""


class Runtime(Protocol):
    """One conversation. Made by a factory; whoever made it closes it."""

    @property
    def name(self) -> str: ...

    @property
    def capabilities(self) -> RuntimeCapabilities: ...

    @property
    def active_turn(self) -> str | None:
        """Id of the running turn, None when idle."""
        ...

    async def check_availability(self) -> Refusal | None:
        """None when a prompt could be answered now. Asks no model."""
        ...

    async def prompt(self, text: str, *, turn_id: str | None = None) -> TurnResult:
        """Run one turn to its end and say how it ended.

        Failures of model, tools and limits are outcomes, not exceptions. Cancelling the caller
        interrupts the turn, waits until it is recorded, and re-raises.

        Raises:
            AgentBusy: a turn runs.
            AgentClosed: after `aclose`.
            StorageError: the prompt could not be accepted durably.
        """
        ...

    async def steer(self, turn_id: str, text: str) -> SteerReply:
        """Put `text` into the named turn at its next model call.

        Returns when it is injected, or as soon as it is certain that it cannot be.
        """
        ...

    async def interrupt(self, turn_id: str | None = None) -> bool:
        """End the running turn within 2 s; True if there was one (and it is the named one)."""
        ...

    async def resume(self) -> int:
        """Take up the stored conversation; number of messages it holds. Replays nothing."""
        ...

    def usage(self) -> UsageTotals: ...

    def subscribe(self, subscriber: Subscriber) -> Unsubscribe: ...

    async def aclose(self) -> None:
        """Interrupt what runs and let go of everything. Idempotent."""
        ...
