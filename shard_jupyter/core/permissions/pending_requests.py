"""Permission requests that wait for an answer (Shard §6). Pure: no clock, no waiting, no wire.

The table holds open requests only, by request id. Whoever runs calls opens them; any client's
answer, the headless policy, the time-out or the end of the turn resolves them. Two invariants:

1. A request is resolved once. Whatever comes after the first is discarded, without an error:
   a late answer is only not relevant any more.
2. An answer can never store a rule that was not offered with the request. Such an answer is
   refused and leaves the request open.

A request that was never issued, one of another agent and one already resolved look the same from
outside, so that nobody learns of another agent's requests by guessing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import ValidationError

from shard_jupyter.errors import CommandError, IllegalTransition
from shard_jupyter.types.decisions import Allow, AllowAlways, Deny, KeepScope, Rule
from shard_jupyter.types.events import PermissionRequest, PermissionResolved

RequestState = Literal["open", "answered", "settled", "expired", "withdrawn"]
RequestEvent = Literal["answer", "settle", "expire", "withdraw"]
Verdict = Allow | AllowAlways | Deny

TRANSITIONS: Mapping[tuple[RequestState, RequestEvent], RequestState] = {
    ("open", "answer"): "answered",
    ("open", "settle"): "settled",
    ("open", "expire"): "expired",
    ("open", "withdraw"): "withdrawn",
}
"""Every state but `open` is final, and forgotten: an event for it is discarded."""

DENIED_BY_PERSON = "A person said no."
"""The model reads it, so it does not tell who: a replay must send the same."""


@dataclass(frozen=True)
class Resolved:
    """How a request ended.

    Attributes:
        arguments: what a person made of the call's arguments; None: as they were shown.
    """

    request: PermissionRequest
    state: RequestState
    decision: Verdict
    by: str
    arguments: dict[str, Any] | None = None

    def as_event(self) -> PermissionResolved:
        """Tell every client, so that each can take its dialog away."""
        return PermissionResolved(
            agent_id=self.request.agent_id,
            turn_id=self.request.turn_id,
            request_id=self.request.request_id,
            call_id=self.request.call_id,
            decision=self.decision,
            by=self.by,
        )


@dataclass(frozen=True)
class Discarded:
    """Nothing happened: late, or not a request of this agent."""

    request_id: str


@dataclass(frozen=True)
class RuleRefused:
    """The rule to store was not one of the offered ones; the request is still open."""

    request_id: str

    def as_error(self, command_id: str) -> CommandError:
        return CommandError(
            "allow_always stores one of the rules that the request offers, unchanged",
            code="rule",
            command_id=command_id,
        )


@dataclass
class _Row:
    request: PermissionRequest
    deadline: float | None


class PendingRequests:
    """Owned by one event loop; not for use from several threads."""

    def __init__(self) -> None:
        self._rows: dict[str, _Row] = {}

    def open(self, request: PermissionRequest, *, deadline: float | None = None) -> None:
        """Begin to wait. `deadline` is on the caller's monotonic clock, in seconds.

        Raises:
            IllegalTransition: a request with this id is open.
        """
        if request.request_id in self._rows:
            raise IllegalTransition("permission request", "open", "open", (request.request_id,))
        self._rows[request.request_id] = _Row(request, deadline)

    def is_open(self, request_id: str) -> bool:
        return request_id in self._rows

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
        """Take a client's answer. `by` says who gave it; the first one wins.

        `rule` and `keep` count with allow_always, `arguments` with allow.
        """
        row = self._rows.get(request_id)
        if row is None or row.request.agent_id != agent_id:
            return Discarded(request_id)
        verdict: Verdict
        if decision == "allow_always":
            offered = _find_offered(row.request, rule)
            if offered is None:
                return RuleRefused(request_id)
            verdict = AllowAlways(rule=offered, why=f"allowed always by {by}", keep=keep)
        elif decision == "allow":
            verdict = Allow(why=f"allowed by {by}")
        else:
            verdict = Deny(reason=DENIED_BY_PERSON, by="person", note=note)
        edited = arguments if decision == "allow" else None
        return self._resolve(request_id, "answer", verdict, by, edited)

    def settle(self, request_id: str, decision: Verdict, by: str) -> Resolved | Discarded:
        """Decide without a person: the headless policy, or an answer given higher up."""
        return self._resolve(request_id, "settle", decision, by)

    def withdraw(self, request_id: str, reason: str) -> Resolved | Discarded:
        """Stop waiting: the call will not run whatever anybody says."""
        return self._resolve(request_id, "withdraw", Deny(reason=reason, by="expired"), "shard")

    def expire(self, now: float) -> tuple[Resolved, ...]:
        """Deny every request whose deadline is `now` or earlier, in the order of opening."""
        due = [
            row.request
            for row in self._rows.values()
            if row.deadline is not None and row.deadline <= now
        ]
        ended = [
            self._resolve(request.request_id, "expire", _expired(request), "shard")
            for request in due
        ]
        return tuple(one for one in ended if isinstance(one, Resolved))

    def pending(self, agent_id: str | None = None) -> tuple[PermissionRequest, ...]:
        """Open requests, oldest first: what a client that attaches has to be shown."""
        return tuple(
            row.request
            for row in self._rows.values()
            if agent_id is None or row.request.agent_id == agent_id
        )

    def _resolve(
        self,
        request_id: str,
        event: RequestEvent,
        verdict: Verdict,
        by: str,
        arguments: dict[str, Any] | None = None,
    ) -> Resolved | Discarded:
        row = self._rows.get(request_id)
        if row is None:
            return Discarded(request_id)
        del self._rows[request_id]
        return Resolved(row.request, TRANSITIONS["open", event], verdict, by, arguments)


def _expired(request: PermissionRequest) -> Deny:
    return Deny(reason="nobody answered in time", by="expired", would_allow=request.would_allow)


def _find_offered(
    request: PermissionRequest, wanted: Mapping[str, Any] | Rule | None
) -> Rule | None:
    """Return the offered rule that equals `wanted`, unknown fields included."""
    try:
        rule = Rule.model_validate(wanted)
    except ValidationError:
        return None
    # Ours, not the client's copy: what is stored cannot differ from what was offered.
    return next((offered for offered in request.offered_rules if offered == rule), None)
