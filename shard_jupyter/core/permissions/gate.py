"""Decides about one call (Shard §4.3, in the order of DESIGN §8).

deny rules of any source, the mode's veto → ask rules → grants → allow rules → what the mode and
the cautious policy allow by themselves → ask.

Two kinds of calls are trusted less. What a weak model asks for gets nothing from the mode or the
policy, only from rules of files and from people. What was read from a model's text is always asked.

The policy here is the cautious one: reads that stay inside the workspace run, everything else
asks. A sharper policy replaces `allow_contained_reads` and changes nothing else.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from shard_jupyter.contracts.mode import Mode
from shard_jupyter.contracts.permission_gate import GateRequest, Offer
from shard_jupyter.core.modes.toolset import is_offered
from shard_jupyter.core.permissions.grants import GrantTable, narrowest_rule, offer_rules
from shard_jupyter.core.permissions.rules import PathNames, Subject, describe_rule, matches
from shard_jupyter.types.decisions import Allow, Ask, Decision, Deny, Effect, Rule
from shard_jupyter.types.ids import new_id


class Location(Protocol):
    """Where a path given by a model really lies."""

    @property
    def real(self) -> Path: ...
    @property
    def inside(self) -> bool: ...
    @property
    def protected(self) -> bool: ...


Locate = Callable[[Path, str], Location]
RECOVERED = "it was read from the model's text, not from a call"
WEAK_MODEL = "the model is small, so each call is asked"


class RuleGate:
    """The gate of one agent; a `PermissionGate`."""

    def __init__(
        self,
        *,
        rules: Sequence[Rule],
        grants: GrantTable,
        find_mode: Callable[[str], Mode],
        locate: Locate,
    ) -> None:
        self._rules = tuple(rules)
        self._grants = grants
        self._find_mode = find_mode
        self._locate = locate

    def judge(self, request: GateRequest) -> Decision:
        mode = self._find_mode(request.mode)
        places = [self._locate(request.cwd, path) for path in request.reach.paths]
        subject = make_subject(request, places)
        denied = self._first("deny", subject, mode)
        if denied:
            return Deny(reason=f"A rule forbids it: {describe_rule(denied)}.", by="rule")
        veto = _mode_veto(request, mode)
        if veto:
            return Deny(reason=veto, by="mode")
        if request.is_recovered:
            return _ask(request, places, RECOVERED)
        asked = self._first("ask", subject, mode)
        if asked:
            return _ask(request, places, f"a rule asks: {describe_rule(asked)}")
        return self._find_allowance(request, subject, mode, places)

    def _find_allowance(
        self, request: GateRequest, subject: Subject, mode: Mode, places: Sequence[Location]
    ) -> Allow | Ask:
        grant = self._grants.find(subject)
        if grant:
            return Allow(why=f"granted: {describe_rule(grant.rule)}")
        mode_rules = mode.rules if request.use_mode_allowance else ()
        rules = (*self._rules, *mode_rules) if request.use_allow_rules else ()
        allowed = _find_allow(rules, subject, places)
        if allowed:
            return Allow(why=f"a rule allows it: {describe_rule(allowed)}")
        if not request.use_mode_allowance:
            return _ask(request, places, WEAK_MODEL)
        if allow_contained_reads(request, places):
            return Allow(why="it only reads inside the workspace")
        return _ask(request, places, "no rule allows it")

    def offer(self, request: GateRequest) -> Offer:
        if request.is_recovered:
            return Offer()
        mode = self._find_mode(request.mode)
        places = [self._locate(request.cwd, path) for path in request.reach.paths]
        subject = make_subject(request, places)
        if self._first("deny", subject, mode) or self._first("ask", subject, mode):
            return Offer()
        needed = narrowest_rule(subject) or Rule(effect="allow", tool=request.tool)
        return Offer(rules=offer_rules(subject), would_allow=needed)

    def _first(self, effect: Effect, subject: Subject, mode: Mode) -> Rule | None:
        rules = (*self._rules, *mode.rules)
        return next((r for r in rules if r.effect == effect and matches(r, subject)), None)


def _find_allow(rules: Sequence[Rule], subject: Subject, places: Sequence[Location]) -> Rule | None:
    """Find an allow rule; a protected path is covered only by a rule that names it."""
    guarded = any(place.protected for place in places)
    return next(
        (
            rule
            for rule in rules
            if rule.effect == "allow"
            and matches(rule, subject)
            and (not guarded or _names_one_path(rule))
        ),
        None,
    )


def make_subject(request: GateRequest, places: Sequence[Location]) -> Subject:
    """Give every path all its names, so that a rule cannot be dodged by spelling."""
    named = tuple(
        PathNames(str(place.real), _name_inside(place.real, request.cwd), (given,))
        for given, place in zip(request.reach.paths, places, strict=True)
    )
    return Subject(request.tool, named, request.reach.command, str(request.cwd))


def _names_one_path(rule: Rule) -> bool:
    path = rule.path or ""
    return bool(path) and not path.endswith("/") and not any(sign in path for sign in "*?[")


def _name_inside(real: Path, cwd: Path) -> str | None:
    return str(real.relative_to(cwd)) if real.is_relative_to(cwd) else None


def _mode_veto(request: GateRequest, mode: Mode) -> str:
    if mode.read_only and request.may_change_things:
        return f"{mode.name} mode changes nothing, and {request.tool} may."
    if not is_offered(request.tool, request.read_only, mode):
        return f"{mode.name} mode does not offer {request.tool}."
    return ""


def allow_contained_reads(request: GateRequest, places: Sequence[Location]) -> bool:
    """Reads of unprotected paths inside the workspace; nothing else."""
    if not request.read_only or request.reach.kind not in ("read", "none"):
        return False
    return all(place.inside and not place.protected for place in places)


def _ask(request: GateRequest, places: Sequence[Location], why: str) -> Ask:
    what = request.reach.summary or request.tool
    reach = (request.tool, request.reach.kind, request.reach.command or "")
    covers = "\n".join((*reach, *(str(place.real) for place in places), why))
    digest = hashlib.sha256(covers.encode("utf-8", "surrogatepass")).hexdigest()
    return Ask(prompt=f"Allow {what}?", request_id=new_id("req"), why=why, covers=digest)
