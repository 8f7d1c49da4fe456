"""What a person allowed for more than one call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from shard_jupyter.core.permissions.known_programs import NEVER_GRANTED
from shard_jupyter.core.permissions.rules import Subject, describe_rule, matches
from shard_jupyter.core.permissions.shell_words import read_plain_words
from shard_jupyter.types.decisions import CommandPattern, Grant, Rule
from shard_jupyter.types.ids import new_id


class GrantTable:
    """The grants of one agent, newest last. Whoever changes it writes it to the session log.

    Attributes:
        left_out: stored grants that do not count here, and why, in words.
    """

    def __init__(self, stored: Iterable[Grant] = (), *, workspace: str = "") -> None:
        """Take up what a log holds. A grant counts in the folder for which it was given."""
        self._workspace = workspace
        self._grants: list[Grant] = []
        left_out = []
        for grant in stored:
            why = self._why_not(grant)
            if why:
                left_out.append(f'The grant "{describe_rule(grant.rule)}" does not count: {why}.')
            else:
                self._grants.append(grant)
        self.left_out = tuple(left_out)

    def __iter__(self) -> Iterator[Grant]:
        return iter(self._grants)

    def give(self, rule: Rule, *, by: str, timestamp: str) -> Grant:
        grant = Grant(
            grant_id=new_id("grant"),
            rule=rule,
            given_by=by,
            timestamp=timestamp,
            workspace=self._workspace,
        )
        self._grants.append(grant)
        return grant

    def find(self, subject: Subject) -> Grant | None:
        return next((grant for grant in self._grants if matches(grant.rule, subject)), None)

    def _why_not(self, grant: Grant) -> str:
        if grant.workspace != self._workspace:
            return "it was given for another folder"
        parts = (grant, grant.rule, grant.rule.command)
        if any(part.model_extra for part in parts if part is not None):
            # What this version does not know may be what makes it narrow.
            return "a newer version wrote it"
        return "" if is_grantable(grant.rule) else "it covers more than a person can be asked for"


def offer_rules(subject: Subject) -> tuple[Rule, ...]:
    """Rules that "allow for this session" may store for a call; none when it was not understood.

    Narrow on purpose: the exact command, or the exact path of the tool.
    """
    rule = narrowest_rule(subject)
    return (rule,) if rule is not None and is_grantable(rule) else ()


def narrowest_rule(subject: Subject) -> Rule | None:
    """Write the allow rule that covers this call and as little else as a rule can."""
    if subject.command is not None:
        words = read_plain_words(subject.command)
        if words is None:
            return None
        exact = CommandPattern(program=words[0], args=tuple(map(_escape, words[1:])))
        rule = Rule(effect="allow", tool=subject.tool, command=exact, source="run")
    elif len(subject.paths) == 1:
        path = subject.paths[0].inside or subject.paths[0].real
        rule = Rule(effect="allow", tool=subject.tool, path=path, source="run")
    else:
        return None
    return rule if matches(rule, subject) else None


def is_grantable(rule: Rule) -> bool:
    """One exact command of a program that does not run, fetch or destroy things, or one path."""
    if rule.effect != "allow" or _has_wildcard(rule.tool):
        return False
    if rule.command is None:
        return rule.path is not None and not _has_wildcard(rule.path) and rule.path[-1:] != "/"
    program, args = rule.command.program, rule.command.args
    if args is None or _has_wildcard(program) or "/" in program or _is_never_granted(program):
        return False
    return all(not _has_wildcard(_unescape(glob)) for glob in args)


def _has_wildcard(text: str) -> bool:
    return any(sign in text for sign in "*?[")


def _is_never_granted(program: str) -> bool:
    return any(fnmatchcase(program, glob) for glob in NEVER_GRANTED)


def _escape(word: str) -> str:
    return "".join(f"[{char}]" if char in "*?[" else char for char in word)


def _unescape(glob: str) -> str:
    for sign in "*?[":
        glob = glob.replace(f"[{sign}]", "")
    return glob
