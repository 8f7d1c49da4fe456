"""Decides about one call (Shard §4.3, in the order of DESIGN §8).

deny rules of any source, the mode's veto → ask rules → grants → allow rules → what the mode and
the policy allow by themselves → ask.

Two kinds of calls are trusted less. What a weak model asks for gets nothing from the mode or the
policy, only from rules of files and from people. What was read from a model's text is always asked.

The policy lets reads run that stay inside the workspace: those of tools, and commands of which
`judge_command` says so. Everything else asks. What it lets run is what was parsed (`security.md`
D1), in a minimal environment; what rules and people let run is that with its globs kept, or the
given bytes where they were not understood.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from shard_jupyter.contracts.mode import Mode
from shard_jupyter.contracts.permission_gate import GateRequest, Offer
from shard_jupyter.core.modes.toolset import is_offered
from shard_jupyter.core.permissions.allowance import (
    Cover,
    allow_contained_reads,
    find_cover,
)
from shard_jupyter.core.permissions.approval_facts import add_rule, gather_facts
from shard_jupyter.core.permissions.call_subject import (
    JudgeCommand,
    JudgedCall,
    Locate,
    content_of,
    identity_of,
    look_at,
)
from shard_jupyter.core.permissions.grantable import (
    examples_covered,
    narrowest_rules,
    offer_rules,
    why_no_always,
)
from shard_jupyter.core.permissions.grants import GrantTable
from shard_jupyter.core.permissions.rule_doubts import Doubt, find_doubt, globs_to_leave_out
from shard_jupyter.core.permissions.rule_files.stand_in import is_stand_in
from shard_jupyter.core.permissions.rules import describe_rule, matches
from shard_jupyter.core.permissions.shell.judge_command import judge_command
from shard_jupyter.types.decisions import Allow, Ask, Decision, Deny, Effect, Rule
from shard_jupyter.types.ids import new_id

RECOVERED = "it was read from the model's text, not from a call"
ASKED_EACH_TIME = "it is asked each time, whatever is allowed"
NO_RULE_CAN = "no rule of this narrow kind can allow it"
WEAK_MODEL = "the model is small, so each call is asked"
NETWORK = "it asks for the network"
UNCONFINED = "it asks to run outside the sandbox"


class RuleGate:
    """The gate of one agent; a `PermissionGate`."""

    def __init__(
        self,
        *,
        rules: Iterable[Rule],
        grants: GrantTable,
        find_mode: Callable[[str], Mode],
        locate: Locate,
        judge_command: JudgeCommand = judge_command,
        has_sandbox: Callable[[], bool] = lambda: False,
    ) -> None:
        """Put it together. `has_sandbox`: a person is asked for more than the sandbox gives."""
        # Not copied: a `RuleBook` has other rules after a person has kept or revoked one.
        self._rules = rules
        self._grants = grants
        self._find_mode = find_mode
        self._locate = locate
        self._judge_command = judge_command
        self._has_sandbox = has_sandbox

    def judge(self, request: GateRequest) -> Decision:
        mode = self._find_mode(request.mode)
        policy = self._take_policy(mode, request)
        call = self._look_at(request, policy)
        denied = policy.first("deny", call)
        if denied:
            return Deny(reason=f"A rule forbids it: {describe_rule(denied)}.", by="rule")
        veto = _mode_veto(request, mode)
        if veto:
            return Deny(reason=veto, by="mode")
        doubt = find_doubt(policy.rules, call, self._locate)
        why = self._find_question(call, policy, doubt)
        allowed = None if why else self._find_allowance(call, policy)
        places = tuple(str(place.real) for place in call.places)
        terms = globs_to_leave_out(policy.rules, call)
        if allowed is not None:
            return allowed.model_copy(update={"leaves_out": terms, "places": places})
        ask = _ask(call, why or _why_not_allowed(call))
        may_be_denied = any(map(is_stand_in, policy.rules)) or (
            doubt is not None and doubt.is_certain and doubt.rule.effect == "deny"
        )
        return ask.model_copy(
            update={"leaves_out": terms, "places": places, "needs_person": may_be_denied}
        )

    def offer(self, request: GateRequest) -> Offer:
        policy = self._take_policy(self._find_mode(request.mode), request)
        call = self._look_at(request, policy)
        doubt = find_doubt(policy.rules, call, self._locate)
        facts = gather_facts(request, call.verdict, call.places, has_sandbox=self._has_sandbox())
        if policy.first("deny", call) or self._find_question(call, policy, doubt):
            return Offer(facts=add_rule(facts, (), (), ASKED_EACH_TIME))
        cover = self._find_cover(call, policy.allowing)
        left = cover.left or ()
        needed = narrowest_rules(call.subject, left)
        needed = needed or (Rule(effect="allow", tool=request.tool, source="run"),)
        # As with ask=rules, where the rules of files count.
        if not self._find_cover(call, (*needed, *policy.granted, *policy.rules)).is_whole:
            return Offer(facts=add_rule(facts, (), (), NO_RULE_CAN))
        rules = offer_rules(call.subject, left)
        examples = examples_covered(rules[-1], call.subject) if rules else ()
        return Offer(
            rules=rules,
            would_allow=needed[0],
            also_needed=needed[1:],
            facts=add_rule(facts, rules, examples, why_no_always(call.subject)),
        )

    def _look_at(self, request: GateRequest, policy: _Policy) -> JudgedCall:
        return look_at(request, self._locate, self._judge_command, rules=policy.rules)

    def _take_policy(self, mode: Mode, request: GateRequest) -> _Policy:
        from_files = tuple(self._rules)
        mode_rules = mode.rules if request.use_mode_allowance else ()
        counting = (*from_files, *mode_rules) if request.use_allow_rules else ()
        granted = tuple(grant.rule for grant in self._grants)
        return _Policy((*from_files, *mode.rules), granted, (*granted, *counting))

    def _find_question(self, call: JudgedCall, policy: _Policy, doubt: Doubt | None) -> str:
        """Say why it is asked whatever is granted or allowed; empty: nothing demands it."""
        request = call.request
        lifted = self._find_lifting(request)
        if request.is_recovered:
            return _join(RECOVERED, lifted)
        asked = policy.first("ask", call)
        if asked:
            return _join(f"a rule asks: {describe_rule(asked)}", lifted)
        if lifted:
            return lifted
        if doubt is not None:
            return f"it may come upon what a rule names: {describe_rule(doubt.rule)}"
        return ""

    def _find_lifting(self, request: GateRequest) -> str:
        """Say what a call wants of which the sandbox, if there is one, would keep it."""
        if not self._has_sandbox():
            return ""
        if request.reach.asks_unconfined:
            return UNCONFINED
        return NETWORK if request.reach.asks_network else ""

    def _find_allowance(self, call: JudgedCall, policy: _Policy) -> Allow | None:
        cover = self._find_cover(call, policy.allowing)
        if cover.is_whole:
            granted = all(rule in policy.granted for rule in cover.used)
            how = "granted" if granted else "a rule allows it"
            why = f"{how}: {'; '.join(map(describe_rule, cover.used))}"
            return Allow(why=why, command=call.canonical)
        if not call.request.use_mode_allowance:
            return None
        if allow_contained_reads(call):
            return Allow(why="it only reads inside the workspace")
        verdict = call.verdict
        if verdict is not None and verdict.is_safe and call.request.reach.obeys_context:
            return Allow(why=verdict.why, command=verdict.confined, is_confined=True)
        return None

    def _find_cover(self, call: JudgedCall, rules: Sequence[Rule]) -> Cover:
        trust = call.request.use_mode_allowance
        return find_cover(rules, call, self._locate, trust_policy=trust)


@dataclass(frozen=True)
class _Policy:
    """What counts for one decision.

    Attributes:
        rules: those of files and of the mode, for what they forbid and ask.
        granted: what people have allowed this agent.
        allowing: the rules that may allow the call, grants first.
    """

    rules: tuple[Rule, ...]
    granted: tuple[Rule, ...]
    allowing: tuple[Rule, ...]

    def first(self, effect: Effect, call: JudgedCall) -> Rule | None:
        rules = (rule for rule in self.rules if rule.effect == effect)
        return next((rule for rule in rules if matches(rule, call.subject)), None)


def _mode_veto(request: GateRequest, mode: Mode) -> str:
    if mode.read_only and request.may_change_things:
        return f"{mode.name} mode changes nothing, and {request.tool} may."
    if not is_offered(request.tool, request.read_only, mode):
        return f"{mode.name} mode does not offer {request.tool}."
    return ""


def _join(*reasons: str) -> str:
    return "; ".join(filter(None, reasons))


def _why_not_allowed(call: JudgedCall) -> str:
    if not call.request.use_mode_allowance:
        return WEAK_MODEL
    special = call.verdict.why if call.verdict is not None else _why_special(call)
    return f"no rule allows it, and {special}" if special else "no rule allows it"


def _why_special(call: JudgedCall) -> str:
    """Why a path is asked where others of its kind are not; empty: it is as any other."""
    reads = call.request.reach.kind == "read"
    for place in call.places:
        if place.why and not (reads and place.reads_freely):
            return place.why if place.inside else f"it is {place.why}"
    return ""


def _ask(call: JudgedCall, why: str) -> Ask:
    """Ask, and write down what exactly a yes would be for.

    A file that is changed is named by its place and its content, so that a yes is for that file.
    """
    request, reach = call.request, call.request.reach
    is_change = reach.kind == "write"
    contents = tuple(map(content_of, call.places)) if is_change else ()
    covers = [
        request.tool,
        reach.kind,
        reach.command or "",
        call.canonical,
        f"{reach.asks_network} {reach.asks_unconfined}",
        *(str(place.real) for place in call.places),
        *(identity_of(place) for place in call.places if is_change),
        *contents,
        why,
    ]
    digest = hashlib.sha256("\0".join(covers).encode("utf-8", "surrogatepass")).hexdigest()
    return Ask(
        prompt=f"Allow {reach.summary or request.tool}?",
        request_id=new_id("req"),
        why=why,
        command=call.canonical,
        covers=digest,
        contents=contents,
    )
