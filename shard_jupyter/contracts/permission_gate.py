"""Decides before anything runs (Shard §4.3, DESIGN §8)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from shard_jupyter.contracts.tool import Reach
from shard_jupyter.types.decisions import Decision, Rule
from shard_jupyter.types.ids import Id
from shard_jupyter.types.render_descriptors import ApprovalFacts
from shard_jupyter.types.wire_model import WireModel


class GateRequest(WireModel):
    """One call, as the gate sees it."""

    call_id: Id
    tool: str
    arguments: dict[str, Any]
    reach: Reach
    read_only: bool
    cwd: Path
    mode: str
    use_allow_rules: bool = True
    """False: no allow rule counts in this turn, neither a file's nor the mode's."""
    use_mode_allowance: bool = True
    """False: what the mode would allow by itself is asked, as a weak model's calls are."""
    is_recovered: bool = False
    """True: read from text; whatever no deny rule forbids is asked, also against rules and grants."""

    @property
    def may_change_things(self) -> bool:
        """What a tool says of itself counts only where its reach agrees."""
        return not self.read_only or self.reach.kind in ("write", "execute")


class Offer(WireModel):
    """What would let a call run without a question from now on.

    `rules` are those that a person may store with an answer. `would_allow` is what a rule file
    would need. Both are empty where a rule asks or forbids: no allow rule goes before those.
    """

    rules: tuple[Rule, ...] = ()
    would_allow: Rule | None = None
    also_needed: tuple[Rule, ...] = ()
    """The other rules that a rule file would need, where a chain needs several."""
    facts: ApprovalFacts = ApprovalFacts()
    """What goes into the approval."""


class PermissionGate(Protocol):
    """May look at the file system: call it off the event loop.

    Both methods raise `ToolFailed` when the call names a path that is none; it is then not run.
    """

    def judge(self, request: GateRequest) -> Decision:
        """Decide by rules, grants, mode and policy; never asks.

        Order: deny rules and the mode's veto → ask rules → grants → allow rules → the mode's
        allow → `Ask`. A call that was read from text is asked after the vetoes; one of a weak
        model gets nothing from its mode. Called when the message arrives and again when the call
        runs; only the second answer counts.
        """
        ...

    def offer(self, request: GateRequest) -> Offer:
        """Say what goes with the question, for a call that was judged as `Ask`."""
        ...
