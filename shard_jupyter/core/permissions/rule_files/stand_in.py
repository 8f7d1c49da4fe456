"""The rule in place of a file that cannot be read: it may have held one that forbids the call."""

from __future__ import annotations

from shard_jupyter.types.decisions import Rule, RuleSource

_OURS: RuleSource = "builtin"
"""No file can give itself this source."""


def stand_in(why: str) -> Rule:
    """Write a rule that asks for every call, and that only a person's yes gets past."""
    return Rule(effect="ask", reason=why, source=_OURS)


def is_stand_in(rule: Rule) -> bool:
    return rule.source == _OURS
