"""What a record says of a request for permission. Pure."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

from shard_jupyter.surfaces.render_static.words.step_words import RECOVERED
from shard_jupyter.types.decisions import Allow, AllowAlways, Deny, KeepScope, Rule
from shard_jupyter.types.events import PermissionRequest, PermissionResolved
from shard_jupyter.types.render_descriptors import ApprovalDescriptor

_NO_PERSON = frozenset({"gate", "headless", "shard"})
_DENIED_BY = {"rule": "rule", "mode": "mode", "headless": "nobody"}
_TIMED_OUT = "nobody answered in time"
_KEPT: Mapping[KeepScope, str] = {
    "session": "",
    "agent": ", this agent",
    "project": ", this project",
    "everywhere": ", all my projects",
}
_LEADS = ("a rule allows it: ", "granted: ")


def open_approval(request: PermissionRequest, *, deterministic: bool) -> ApprovalDescriptor:
    """Keep the question; what is known of the call only where no other run has to know the same."""
    mark = f" ({RECOVERED})" if request.recovered else ""
    asked = request.approval
    return ApprovalDescriptor(
        question=f"{request.prompt}{mark}",
        state="waiting",
        why=request.why,
        edited=asked is not None and asked.edited,
        facts=None if deterministic or asked is None else asked.facts,
    )


def resolve_approval(
    asked: ApprovalDescriptor, event: PermissionResolved, you: Container[str]
) -> ApprovalDescriptor:
    """Say how it ended and who decided; `you` are the names of the person at this notebook."""
    person = "you" if event.by in you else event.by
    changes: dict[str, Any]
    match event.decision:
        case Allow(why=why) if event.by in _NO_PERSON:
            changes = {"state": "allowed", "by": "rule", "rule": _without_lead(why)}
        case Allow():
            changes = {"state": "allowed", "by": person}
        case AllowAlways(rule=rule, keep=keep):
            told = f"{describe_rule(rule)}{_KEPT[keep]}"
            covers = "session" if keep == "session" else "always"
            changes = {"state": "allowed", "by": person, "covers": covers, "rule": told}
        case Deny(by="expired", reason=reason):
            state = "expired" if reason == _TIMED_OUT else "withdrawn"
            changes = {"state": state, "note": reason.removesuffix(".")}
        case Deny(by="person", note=note):
            changes = {"state": "denied", "by": person, "note": note}
        case Deny(by=by, reason=reason):
            changes = {"state": "denied", "by": _DENIED_BY[by], "rule": reason.removesuffix(".")}
        case _:
            return asked  # an Ask decides nothing
    # What it reached is told by its result; before the answer it had to be told here.
    return asked.model_copy(update={**changes, "facts": None})


def _without_lead(why: str) -> str:
    for lead in _LEADS:
        why = why.removeprefix(lead)
    return why


def describe_rule(rule: Rule) -> str:
    """A rule in one line, for a person."""
    parts = [rule.effect, rule.tool]
    if rule.command:
        parts.append(" ".join((rule.command.program, *(rule.command.args or ("…",)))))
    if rule.path:
        parts.append(rule.path)
    return " ".join(parts)
