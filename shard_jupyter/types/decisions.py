"""Rules, grants and what the gate decides (DESIGN §8)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from shard_jupyter.types.ids import Id
from shard_jupyter.types.wire_model import KeptModel, WireModel

Effect = Literal["allow", "deny", "ask"]
AskSetting = Literal["inline", "deny", "rules", "yes", "recorded"]
"""Who decides what no rule covers.

`inline`: a person answers. `deny`: what would be asked is denied, and allow rules do not count.
`rules`: what no allow rule covers is denied. `yes`: what no deny rule forbids runs. `recorded`: as
`rules`, and what a person answered when the cassette was recorded counts once more. A call that was
read from a model's text runs by no setting: only a person allows it.
"""
RuleSource = Literal["builtin", "policy", "user", "project", "run", "mode", "headless"]


class CommandPattern(KeptModel):
    """A simple command. `args` are globs, one a word; a last `**` takes any rest."""

    program: str
    args: tuple[str, ...] | None = None
    """None: any arguments."""


class Rule(KeptModel):
    """One line of policy. What is None or empty matches everything."""

    effect: Effect
    tool: str = "*"
    """Glob over tool names."""
    command: CommandPattern | None = None
    path: str | None = None
    """Glob over the path, relative to the workspace where it lies inside, else absolute."""
    reason: str = ""
    source: RuleSource = "user"


class Grant(KeptModel):
    """What a person allowed for more than one call. Kept per agent."""

    grant_id: Id
    rule: Rule
    workspace: str = ""
    """The folder for which it was given: nowhere else does it count."""
    scope: Literal["session", "agent"] = "session"
    given_by: str = ""
    timestamp: str = ""


class Allow(WireModel):
    kind: Literal["allow"] = "allow"
    why: str = ""
    """The rule, grant or policy that decided, in words."""


class AllowAlways(WireModel):
    kind: Literal["allow_always"] = "allow_always"
    rule: Rule
    why: str = ""


class Deny(WireModel):
    kind: Literal["deny"] = "deny"
    reason: str
    by: Literal["rule", "mode", "headless", "person", "expired"] = "rule"
    note: str = ""
    """What the person wants the model to know."""
    would_allow: str = ""
    """The rule that would have allowed it, as JSON; empty when none can."""


class Ask(WireModel):
    kind: Literal["ask"] = "ask"
    prompt: str
    request_id: Id
    why: str = ""
    covers: str = ""
    """What a yes covers, as the gate writes it: a later Ask that covers the same needs no other."""


Decision = Annotated[Allow | AllowAlways | Deny | Ask, Field(discriminator="kind")]
