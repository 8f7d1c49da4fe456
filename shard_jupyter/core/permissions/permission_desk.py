"""Waiting for an answer: `PendingRequests` with a clock and an event a request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

import anyio

from shard_jupyter.contracts.clock import Clock
from shard_jupyter.core.permissions.pending_requests import (
    Discarded,
    PendingRequests,
    Resolved,
    RuleRefused,
    Verdict,
)
from shard_jupyter.types.decisions import AllowAlways, KeepScope, Rule
from shard_jupyter.types.events import PermissionRequest

_Outcome = TypeVar("_Outcome", Resolved, Resolved | Discarded, Resolved | Discarded | RuleRefused)


@dataclass
class _Slot:
    deadline: float | None
    done: anyio.Event = field(default_factory=anyio.Event)
    resolved: Resolved | None = None

    async def settled(self) -> Resolved:
        while self.resolved is None:
            await self.done.wait()
        return self.resolved


class PermissionDesk:
    """One an agent. Whoever opened a request waits for it; each has one waiter.

    `on_resolved` is called once for every request that was opened, also when its wait is
    cancelled, so that no client is left with an open dialog. It runs on the event loop, must
    return at once and must not raise.
    """

    def __init__(self, clock: Clock, on_resolved: Callable[[Resolved], None]) -> None:
        self._clock = clock
        self._on_resolved = on_resolved
        self._requests = PendingRequests()
        self._slots: dict[str, _Slot] = {}
        self._always = anyio.Event()
        self._always_given = 0

    def open(self, request: PermissionRequest, *, timeout_seconds: float | None = None) -> None:
        """Make a request answerable; do it before any client is told of it.

        Raises:
            IllegalTransition: a request with this id is open.
        """
        deadline = None if timeout_seconds is None else self._clock.monotonic() + timeout_seconds
        self._requests.open(request, deadline=deadline)
        self._slots[request.request_id] = _Slot(deadline)

    async def wait(self, request_id: str) -> Resolved:
        """Return how the request ended; at its deadline it is denied.

        Cancelling the wait withdraws the request: an answer that comes later is discarded.

        Raises:
            KeyError: it was never opened here, or was waited for before.
        """
        slot = self._slots[request_id]
        try:
            async with anyio.create_task_group() as group:
                if slot.deadline is not None:
                    group.start_soon(self._expire_at, slot.deadline)
                await slot.settled()
                group.cancel_scope.cancel()
            return await slot.settled()
        finally:
            self.forget(request_id, "the turn has ended")

    async def next_always(self, seen: int) -> int:
        """Wait until something was allowed for more than one call more often than `seen` times.

        It counts by then. Returns how often.
        """
        while self._always_given == seen:
            await self._always.wait()
        return self._always_given

    def is_open(self, request_id: str) -> bool:
        """False once somebody has answered, even if nobody has waited for that yet."""
        return self._requests.is_open(request_id)

    def answer(
        self,
        agent_id: str,
        request_id: str,
        decision: Literal["allow", "allow_always", "deny"],
        rule: Mapping[str, Any] | Rule | None,
        by: str,
        *,
        keep: KeepScope = "session",
        note: str = "",
        arguments: dict[str, Any] | None = None,
    ) -> Resolved | Discarded | RuleRefused:
        """Take a client's answer; see `PendingRequests.answer`."""
        outcome = self._requests.answer(
            agent_id, request_id, decision, rule, by, keep=keep, note=note, arguments=arguments
        )
        return self._wake(outcome)

    def settle(self, request_id: str, decision: Verdict, by: str) -> Resolved | Discarded:
        """Decide without a person; see `PendingRequests.settle`."""
        return self._wake(self._requests.settle(request_id, decision, by))

    def withdraw(self, request_id: str, reason: str) -> Resolved | Discarded:
        """Stop waiting; see `PendingRequests.withdraw`."""
        return self._wake(self._requests.withdraw(request_id, reason))

    def forget(self, request_id: str, reason: str) -> None:
        """Withdraw a request for which nobody waits or will; done before, it does nothing."""
        self.withdraw(request_id, reason)
        self._slots.pop(request_id, None)

    def pending(self, agent_id: str | None = None) -> tuple[PermissionRequest, ...]:
        """Open requests, oldest first."""
        return self._requests.pending(agent_id)

    async def _expire_at(self, deadline: float) -> None:
        await self._clock.sleep(max(0.0, deadline - self._clock.monotonic()))
        for resolved in self._requests.expire(max(deadline, self._clock.monotonic())):
            self._wake(resolved)

    def _wake(self, outcome: _Outcome) -> _Outcome:
        if isinstance(outcome, Resolved):
            slot = self._slots[outcome.request.request_id]
            slot.resolved = outcome
            slot.done.set()
            self._on_resolved(outcome)
            if isinstance(outcome.decision, AllowAlways):
                self.tell_always()
        return outcome

    def tell_always(self) -> None:
        """A new rule counts: whoever waits looks at the open questions once more."""
        self._always_given += 1
        always, self._always = self._always, anyio.Event()
        always.set()
