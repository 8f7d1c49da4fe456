"""Judges single calls as the gate of an agent would, without an agent."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from shard_jupyter.contracts.permission_gate import GateRequest, Offer
from shard_jupyter.core.calls.tool_boundary import read_call
from shard_jupyter.core.files.path_guard import locate
from shard_jupyter.core.modes.builtin_modes import BUILTIN_MODES
from shard_jupyter.core.modes.controller import ModeController
from shard_jupyter.core.permissions.gate import RuleGate
from shard_jupyter.core.permissions.grants import GrantTable
from shard_jupyter.core.permissions.rules import describe_rule
from shard_jupyter.core.tools import builtin_tools
from shard_jupyter.errors import ModelVisibleError
from shard_jupyter.types.decisions import Allow, AllowAlways, Ask, Decision, Deny, Rule


@dataclass(frozen=True)
class Judgement:
    """What would happen to one call.

    Attributes:
        rule: the first rule that decided; None: no rule did.
        reason: in words.
        runs_as: the form in which a command would run; empty: as it is given.
        offer: the rules that would let it run, if there are any.
    """

    decision: Literal["allow", "ask", "deny"]
    rule: Rule | None
    reason: str
    runs_as: str = ""
    offer: Offer = field(default_factory=Offer)


class RuleJudge:
    """One folder, its rules and a mode. Looks at the disk, and runs nothing."""

    def __init__(
        self, rules: Iterable[Rule], cwd: Path, mode: str = "build", *, offers: bool = False
    ) -> None:
        """Judge in `cwd`, which is absolute and real. `offers`: say what would allow a call, too.

        Raises:
            UnknownMode: there is no such mode.
        """
        modes = ModeController({each.name: each for each in BUILTIN_MODES}, mode)
        self._rules = tuple(rules)
        self._known = (*self._rules, *modes.current.rules)
        self._gate = RuleGate(
            rules=self._rules, grants=GrantTable(), find_mode=modes.find, locate=locate
        )
        self._cwd = cwd
        self._mode = modes.current.name
        self._offers = offers
        self._tools = {tool.spec.name: tool for tool in builtin_tools()}

    def judge_command(self, command: str) -> Judgement:
        return self._judge("bash", {"command": command})

    def judge_path(self, path: str, op: str) -> Judgement:
        """`op`: read or write."""
        extra = {"content": ""} if op == "write" else {}
        return self._judge(op, {"path": path, **extra})

    def _judge(self, name: str, given: dict[str, Any]) -> Judgement:
        tool = self._tools[name]
        try:
            arguments, reach = read_call(tool, given)
            request = GateRequest(
                call_id="check",
                tool=name,
                arguments=dict(arguments),
                reach=reach,
                read_only=tool.is_read_only,
                cwd=self._cwd,
                mode=self._mode,
            )
            decision = self._gate.judge(request)
            is_offered = self._offers and isinstance(decision, Ask)
            offer = self._gate.offer(request) if is_offered else Offer()
        except ModelVisibleError as error:
            return Judgement("deny", None, str(error))
        except OSError as error:
            told = error.strerror or str(error)
            return Judgement("deny", None, f"What it names cannot be looked at: {told}.")
        return _describe(decision, self._known, offer)


def _describe(decision: Decision, rules: Iterable[Rule], offer: Offer) -> Judgement:
    rule = find_deciding_rule(decision, rules)
    if isinstance(decision, Deny):
        return Judgement("deny", rule, decision.reason)
    if isinstance(decision, Ask):
        return Judgement("ask", rule, decision.why, decision.command, offer)
    runs_as = decision.command if isinstance(decision, Allow) else ""
    return Judgement("allow", rule, decision.why, runs_as)


def find_deciding_rule(decision: Decision, rules: Iterable[Rule]) -> Rule | None:
    """Find the rule that the gate names in its words; the first of equal ones counts. Pure."""
    if isinstance(decision, Deny) and decision.by != "rule":
        return None
    told = decision.reason.removesuffix(".") if isinstance(decision, Deny) else decision.why
    _, _, named = told.partition(": ")
    is_allowed = isinstance(decision, Allow | AllowAlways)
    for rule in rules:
        words = describe_rule(rule)
        fits = (rule.effect == "allow") == is_allowed
        if fits and (named == words or (is_allowed and named.startswith(f"{words}; "))):
            return rule
    return None


def show_rule(rule: Rule) -> dict[str, Any]:
    """A rule as a rule file has it, and where it came from."""
    fields = rule.model_dump(mode="json", exclude_defaults=True)
    return {"effect": rule.effect, **fields, "source": rule.source}


def write_line(value: dict[str, Any]) -> str:
    """One line of JSON, in ASCII: an id may hold what no encoding can write."""
    return json.dumps(value)
