"""`%shard grants`: what the person allowed for longer than one call, and taking it back.

What is in files is asked of a command line of its own, what holds for a session of its live agent.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from pydantic import TypeAdapter

from shard_jupyter.core.permissions.rules import describe_rule
from shard_jupyter.errors import AgentClosed, UsageError
from shard_jupyter.protocol.agent_commands import SessionOp
from shard_jupyter.protocol.results import SessionOpDone
from shard_jupyter.surfaces.magics.line.command_child import ask_command_line
from shard_jupyter.surfaces.magics.line.line_arguments import LineArguments
from shard_jupyter.surfaces.magics.line.views.descriptors import make_table
from shard_jupyter.surfaces.magics.line.views.line_view import LineView
from shard_jupyter.surfaces.magics.line.views.moments import say_when
from shard_jupyter.types.decisions import Grant
from shard_jupyter.types.render_descriptors import RenderDescriptor, StatusDescriptor

if TYPE_CHECKING:
    from shard_jupyter.surfaces.magics.kernel_agents import KernelAgents

REVOKE = "revoke"
ALL = "all"
NOTHING = "You have allowed nothing for longer than one call."


@dataclass(frozen=True)
class GrantRow:
    """One permission that holds until it is revoked, or its session is closed.

    Attributes:
        where: the folder in which it counts; empty: in every one.
        session: the conversation whose agent has it; empty: every agent.
        words: what is allowed.
        given_by: empty where it was written by hand.
    """

    id: str
    scope: Literal["session", "agent", "project", "everywhere"]
    where: str
    session: str
    words: str
    rule: dict[str, Any]
    given_by: str
    given_at: str


@dataclass(frozen=True, repr=False)
class GrantsView(LineView):
    """What is allowed for longer, or what was just taken back.

    Attributes:
        grants: those there are; those that are gone, where `revoked`.
        revoked: this command took them back.
    """

    grants: tuple[GrantRow, ...]
    revoked: bool
    taken: datetime

    def describe(self) -> tuple[RenderDescriptor, ...]:
        if self.revoked:
            return tuple(self._say_gone())
        if not self.grants:
            return (StatusDescriptor(label=NOTHING),)
        head = ("What is allowed", "For", "Given", "Id")
        advice = StatusDescriptor(label="Take one back with: %shard grants revoke ID")
        return make_table(head, map(self._cells, self.grants)), advice

    def _say_gone(self) -> Iterator[StatusDescriptor]:
        for row in self.grants:
            label = f"Revoked: {row.words} ({_say_where(row)}). It is asked for again."
            yield StatusDescriptor(label=label, tone="success")
        if not self.grants:
            yield StatusDescriptor(label="There was nothing to revoke.")

    def _cells(self, row: GrantRow) -> tuple[str, ...]:
        who = f"by {row.given_by}" if row.given_by else "by hand"
        when = say_when(row.given_at, self.taken) if row.given_at else ""
        return row.words, _say_where(row), f"{when} {who}".strip(), row.id


def _say_where(row: GrantRow) -> str:
    if row.scope == "session":
        return f"session {row.session} until it is closed"
    if row.scope == "agent":
        return f"session {row.session} in {row.where}"
    return f"agents in {row.where}" if row.where else "every project"


def run_command(agents: KernelAgents, given: LineArguments) -> GrantsView:
    if given.argument is None:
        return _view(_of_sessions(agents), ask_command_line("grants", "list"), revoked=False)
    if given.argument != REVOKE:
        raise _refuse(f"%shard grants does not know what {given.argument!r} is.")
    # What begins with a hyphen would be an option of the command line.
    if given.second is None or given.second.startswith("-"):
        raise _refuse("%shard grants revoke needs the id of a grant.")
    if given.second == ALL:
        gone = _of_sessions(agents, revoke=True)
        return _view(gone, ask_command_line("grants", "revoke", "--all"), revoked=True)
    gone = _of_sessions(agents, revoke=True, grant_id=given.second)
    rows = () if gone else ask_command_line("grants", "revoke", given.second)
    return _view(gone, rows, revoked=True)


def _of_sessions(
    agents: KernelAgents, *, revoke: bool = False, grant_id: str | None = None
) -> tuple[GrantRow, ...]:
    """Ask the agents of this kernel. What has ended, has none."""
    found: list[GrantRow] = []
    for info in agents.all():
        fields = {"op": "revoke", "grant_id": grant_id} if revoke else {"op": "grants"}
        with suppress(AgentClosed):
            done = agents.request(SessionOp, SessionOpDone, agent_id=info.id, **fields)
            found += (_row_of(grant, info.session_id) for grant in done.grants)
    return tuple(found)


def _row_of(grant: Grant, session: str) -> GrantRow:
    return GrantRow(
        id=grant.grant_id,
        scope="session",
        where=grant.workspace,
        session=session,
        words=describe_rule(grant.rule),
        rule=grant.rule.model_dump(mode="json", exclude_defaults=True),
        given_by=grant.given_by,
        given_at=grant.timestamp,
    )


def _refuse(message: str) -> UsageError:
    next_step = "Write %shard grants revoke ID; %shard grants lists the ids."
    return UsageError(message, next_step=next_step)


def _view(of_sessions: tuple[GrantRow, ...], rows: object, *, revoked: bool) -> GrantsView:
    found = TypeAdapter(tuple[GrantRow, ...]).validate_python(rows)
    return GrantsView((*of_sessions, *found), revoked, datetime.now(UTC))
