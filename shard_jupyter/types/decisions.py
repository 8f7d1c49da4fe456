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
KeepScope = Literal["session", "agent", "project", "everywhere"]
"""How long a person's "always" holds.

`session`: until this conversation is closed. `agent`: for this agent, also when it is reopened.
`project`: a rule in the person's own rule file that counts in this workspace. `everywhere`: such a
rule that counts in every workspace.
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
    project: str = ""
    """Absolute folder: the rule counts only where the workspace is this folder or lies in it. Empty:
    everywhere."""


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
    command: str = ""
    """The canonical form in which a shell command runs; empty: as it was given."""
    is_confined: bool = False
    """Nobody was asked and no rule speaks of it: it runs in a minimal environment, git hardened."""
    leaves_out: tuple[str, ...] = ()
    """Path globs of rules that forbid or ask: a tool that looks through folders skips such files."""
    places: tuple[str, ...] = Field(default=(), exclude=True)
    """Where the paths of the call led when it was judged, in their order. Not kept, not sent."""


class AllowAlways(WireModel):
    kind: Literal["allow_always"] = "allow_always"
    rule: Rule
    why: str = ""
    keep: KeepScope = "session"


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
    command: str = ""
    """The canonical form that a yes would run; empty: there is none, it runs as it was given."""
    places: tuple[str, ...] = Field(default=(), exclude=True)
    """As of `Allow`."""
    covers: str = ""
    """What a yes covers, as the gate writes it: a later Ask that covers the same needs no other."""
    leaves_out: tuple[str, ...] = ()
    """As of `Allow`."""
    contents: tuple[str, ...] = ()
    """What is in the files that it changes, as long as a yes holds: see `ToolContext.contents`."""
    needs_person: bool = False
    """A deny rule may speak of it, known or in a file that cannot be read: not even ask=yes allows
    it."""


Decision = Annotated[Allow | AllowAlways | Deny | Ask, Field(discriminator="kind")]
