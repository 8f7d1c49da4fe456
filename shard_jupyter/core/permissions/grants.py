"""What a person allowed for more than one call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from shard_jupyter.core.permissions.grantable import why_not_grantable
from shard_jupyter.core.permissions.rule_files.agent_grants import AgentGrants
from shard_jupyter.core.permissions.rule_files.granted_rules import keep_rule
from shard_jupyter.core.permissions.rules import Subject, describe_rule, matches
from shard_jupyter.errors import ConfigError, StorageError
from shard_jupyter.types.decisions import Grant, KeepScope, Rule
from shard_jupyter.types.ids import new_id


class GrantTable:
    """What one person allowed one agent for more than one call.

    Whoever gives a grant writes it to the session log, and then has `save` called in a thread: up
    to then a grant that is to stay counts from memory, afterwards from its file alone, so that
    taking it back there counts at once.

    Attributes:
        left_out: stored grants that do not count here, and why, in words.
    """

    def __init__(
        self,
        stored: Iterable[Grant] = (),
        *,
        workspace: str = "",
        of_agent: AgentGrants | None = None,
        granted: Path | None = None,
    ) -> None:
        """Take up what is stored. A grant counts in the folder for which it was given.

        Args:
            stored: what counts until this agent is closed.
            workspace: where it works.
            of_agent: what counts for it again when it is reopened; None: it cannot be kept.
            granted: the file for rules that count elsewhere too; None: they cannot be kept.
        """
        self._workspace = workspace
        self._of_agent = of_agent
        self._granted = granted
        self._unsaved: list[tuple[KeepScope, Grant]] = []
        stored = tuple(stored)
        self._grants = [grant for grant in stored if not self._why_not(grant)]
        told = (*stored, *self._kept())
        reasons = [(grant, why) for grant in told if (why := self._why_not(grant))]
        self.left_out = tuple(
            f'The grant "{describe_rule(grant.rule)}" does not count: {why}.'
            for grant, why in reasons
        )

    def __iter__(self) -> Iterator[Grant]:
        """All that count now; looks at the file."""
        yield from self._grants
        yield from [grant for _, grant in tuple(self._unsaved)]
        yield from (grant for grant in self._kept() if not self._why_not(grant))

    @property
    def rules(self) -> tuple[Rule, ...]:
        return tuple(grant.rule for grant in self)

    def give(self, rule: Rule, *, by: str, timestamp: str, keep: KeepScope = "session") -> Grant:
        """Let it count from now on. Writes nothing."""
        grant = Grant(
            grant_id=new_id("grant"),
            rule=rule,
            given_by=by,
            timestamp=timestamp,
            workspace=self._workspace,
            scope="agent" if keep == "agent" else "session",
        )
        if keep == "session":
            self._grants.append(grant)
        else:
            self._unsaved.append((keep, grant))
        return grant

    def of_session(self) -> tuple[Grant, ...]:
        """Those that end with this agent, oldest first; the others stand in files."""
        return tuple(self._grants)

    def revoke(self, grant_id: str | None) -> tuple[Grant, ...]:
        """Take back one of `of_session`, all of them for None; returns those that are gone."""
        gone = tuple(one for one in self._grants if grant_id in (None, one.grant_id))
        self._grants = [one for one in self._grants if one not in gone]
        return gone

    def save(self) -> tuple[str, ...]:
        """Write what is to stay. Blocking.

        Returns:
            What could not be kept and so counts for this session alone, in words.
        """
        problems = []
        for entry in tuple(self._unsaved):
            try:
                self._save_one(*entry)
            except (ConfigError, StorageError) as error:
                self._grants.append(entry[1])
                problems.append(f"What you allowed counts for this session only. {error}")
            self._unsaved.remove(entry)
        return tuple(problems)

    def _save_one(self, keep: KeepScope, grant: Grant) -> None:
        if keep == "agent" and self._of_agent is not None:
            self._of_agent.add(grant)
        elif keep != "agent" and self._granted is not None:
            project = self._workspace if keep == "project" else ""
            rule = grant.rule.model_copy(update={"project": project})
            keep_rule(self._granted, rule, by=grant.given_by, at=grant.timestamp)
        else:
            raise StorageError("This agent has no place to keep it.")

    def find(self, subject: Subject) -> Grant | None:
        return next((grant for grant in self if matches(grant.rule, subject)), None)

    def _kept(self) -> tuple[Grant, ...]:
        return self._of_agent.grants() if self._of_agent is not None else ()

    def _why_not(self, grant: Grant) -> str:
        if grant.workspace != self._workspace:
            return "it was given for another folder"
        parts = (grant, grant.rule, grant.rule.command)
        if any(part.model_extra for part in parts if part is not None):
            # What this version does not know may be what makes it narrow.
            return "a newer version wrote it"
        return why_not_grantable(grant.rule)
