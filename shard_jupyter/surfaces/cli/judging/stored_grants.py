"""What a person allowed for longer, wherever it is kept: listed, and taken back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from shard_jupyter.core.permissions.rule_files.agent_grants import (
    NAME,
    AgentGrants,
    read_agent_grants,
)
from shard_jupyter.core.permissions.rule_files.granted_rules import read_granted, revoke_rules
from shard_jupyter.core.permissions.rule_files.rule_places import RulePlaces
from shard_jupyter.core.permissions.rules import describe_rule
from shard_jupyter.errors import ConfigError, SessionNotFound, UserError
from shard_jupyter.store.session_index import session_path
from shard_jupyter.types.decisions import Rule

Scope = Literal["agent", "project", "everywhere"]


@dataclass(frozen=True)
class StoredGrant:
    """One permission that holds until it is revoked.

    Attributes:
        where: the folder in which it counts; empty: in every one.
        session_id: of the agent for which it counts; empty: for every agent.
        given_by: who gave it; empty: it was written by hand.
    """

    grant_id: str
    scope: Scope
    rule: Rule
    where: str = ""
    session_id: str = ""
    given_by: str = ""
    given_at: str = ""

    @property
    def words(self) -> str:
        return describe_rule(self.rule)


class StoredGrants:
    """All of one person. Every method blocks.

    Attributes:
        problems: files that could not be read, in words; filled by `list_all`.
    """

    def __init__(self, places: RulePlaces) -> None:
        self._granted = places.granted
        self._sessions = places.state_home / "sessions"
        self.problems: list[str] = []

    def list_all(self, session_id: str | None = None) -> tuple[StoredGrant, ...]:
        """List those of `granted.json`, then those of agents; of a session its own alone.

        Raises:
            SessionNotFound: there is no such session.
            UsageError: that is no session id.
        """
        self.problems = []
        files = self._find_files(session_id)
        found = [] if session_id else list(self._read_rules())
        for file in files:
            found += self._read_agent(file)
        return tuple(found)

    def revoke(self, grant_id: str | None, session_id: str | None = None) -> list[StoredGrant]:
        """Take one back, or all that the list shows for None; returns those that are gone.

        Raises:
            UserError: there is none of that id.
            ConfigError: a file is broken, and so is left as it is.
            StorageError: a file cannot be written.
        """
        listed = [
            one for one in self.list_all(session_id) if grant_id is None or one.grant_id == grant_id
        ]
        if grant_id is not None and not listed:
            raise UserError(
                f"There is no grant {grant_id!r}.",
                code="no_grant",
                next_step="`shard grants` lists them with their ids.",
            )
        rules = {one.grant_id for one in listed if not one.session_id}
        gone = {one.rule_id for one in revoke_rules(self._granted, rules)} if rules else set()
        for session in {one.session_id for one in listed if one.session_id}:
            wanted = {one.grant_id for one in listed if one.session_id == session}
            file = AgentGrants(session_path(self._sessions, session).with_name(NAME))
            gone |= {one.grant_id for one in file.revoke(wanted)}
        return [one for one in listed if one.grant_id in gone]

    def _find_files(self, session_id: str | None) -> list[Path]:
        if session_id is None:
            return sorted(self._sessions.glob(f"*/{NAME}"))
        log = session_path(self._sessions, session_id)
        if not log.parent.is_dir():
            raise SessionNotFound(
                f"There is no session {session_id!r}.", next_step="`shard sessions` lists them."
            )
        return [log.with_name(NAME)]

    def _read_rules(self) -> Iterator[StoredGrant]:
        try:
            kept = read_granted(self._granted)
        except ConfigError as error:
            self.problems.append(str(error))
            return
        for one in kept:
            where = one.rule.project
            scope: Scope = "project" if where else "everywhere"
            yield StoredGrant(
                one.rule_id, scope, one.rule, where, given_by=one.given_by, given_at=one.given_at
            )

    def _read_agent(self, file: Path) -> Iterator[StoredGrant]:
        try:
            grants = read_agent_grants(file)
        except ConfigError as error:
            self.problems.append(f"{error.message} None of its grants count.")
            return
        for one in grants:
            yield StoredGrant(
                one.grant_id,
                "agent",
                one.rule,
                one.workspace,
                file.parent.name,
                one.given_by,
                one.timestamp,
            )
