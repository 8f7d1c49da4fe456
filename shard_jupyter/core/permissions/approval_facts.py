"""What a person has to know before saying yes to a call (UI §5.6).

It leans to the bad side: what is not known to be harmless is told as not known, and "can be undone"
is said only where that is certain. Nothing is decided here.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from shard_jupyter.contracts.permission_gate import GateRequest
from shard_jupyter.core.files.protected_names import is_secret_path
from shard_jupyter.core.permissions.approval import program_effects as effects
from shard_jupyter.core.permissions.approval.command_facts import facts_of_command
from shard_jupyter.core.permissions.approval.place_names import (
    ANY_HOST,
    Place,
    hosts_in,
    name_place,
    show_folder,
)
from shard_jupyter.core.permissions.shell.shell_verdict import ShellVerdict
from shard_jupyter.types.decisions import Rule
from shard_jupyter.types.render_descriptors import ApprovalFacts


def gather_facts(
    request: GateRequest,
    verdict: ShellVerdict | None,
    places: Sequence[Place],
    *,
    has_sandbox: bool = False,
) -> ApprovalFacts:
    """Tell what a call does, as far as its text does. Looks at the file system.

    `verdict` is of its command, `places` are those of `request.reach.paths`. What "always" would
    store is told by `add_rule`. In a sandbox nothing but what is known to need the network gets it
    with a yes, so that nothing else names it.
    """
    if request.reach.command is not None:
        is_locked = has_sandbox and not request.reach.asks_unconfined
        return facts_of_command(
            request, request.reach.command, verdict or ShellVerdict(), is_locked=is_locked
        )
    cwd, reach = request.cwd, request.reach
    names = tuple(name_place(place, cwd) for place in places)
    writes = names if reach.kind in ("write", "execute") else ()
    hosts = tuple(dict.fromkeys(hosts_in(_texts_of(request.arguments.values()))))
    return ApprovalFacts(
        runs_in=show_folder(cwd) if reach.kind == "execute" else "",
        writes=writes,
        reads_outside=() if writes else tuple(_outside(places, cwd)),
        network=hosts or (ANY_HOST,) if reach.kind == "network" or reach.asks_network else (),
        is_known=reach.kind != "execute" and not reach.asks_unconfined,
        undo=_undo_of_tool(request, places),
    )


def add_rule(
    facts: ApprovalFacts, rules: Sequence[Rule], also_covers: Sequence[str], no_always: str
) -> ApprovalFacts:
    """Tell what "always" would store: the widest of `rules`; none is why it is not offered."""
    if not rules:
        return facts.model_copy(update={"no_always": no_always})
    widest = rules[-1]
    changes = {
        "rule": rule_in_words(widest),
        "also_covers": tuple(also_covers),
        "not_covered": tuple(_not_covered(widest)),
    }
    return facts.model_copy(update=changes)


def rule_in_words(rule: Rule) -> str:
    """Write what a rule covers as the command or the call that it would be."""
    if rule.command is not None:
        args = ("**",) if rule.command.args is None else rule.command.args
        words = [_pattern_in_words(glob) for glob in (rule.command.program, *args)]
        return " ".join(words)
    return " ".join(part for part in (rule.tool, rule.path) if part)


def _pattern_in_words(glob: str) -> str:
    if glob == "**":
        return "…"
    plain = re.sub(r"\[([*?\[])\]", r"\1", glob)
    if plain == glob and any(sign in glob for sign in "*?["):
        return glob
    return shlex.quote(plain)


def _not_covered(rule: Rule) -> Iterator[str]:
    if rule.command is None:
        yield "other files and other tools"
        return
    yield "other options"
    if any("**" in glob for glob in rule.command.args or ("**",)):
        yield "paths elsewhere"
    else:
        yield "other arguments"
    yield "a chain with another command"
    yield "output that goes to a file"


def _outside(places: Iterable[Place], cwd: Path) -> Iterator[str]:
    for place in places:
        if not place.inside or is_secret_path(place.real.parts):
            yield name_place(place, cwd)


def _texts_of(values: Iterable[object]) -> str:
    return "\n".join(value for value in values if isinstance(value, str))


def _undo_of_tool(request: GateRequest, places: Sequence[Place]) -> str:
    match request.reach.kind:
        case "read" | "none":
            return effects.NOTHING
        case "write" if places and request.tool in ("write", "edit"):
            if not any(place.real.exists() for place in places):
                return effects.NEW_FILE
            is_inside = all(place.inside for place in places)
            return effects.BY_GIT if is_inside else effects.MAY_BE_GONE
        case "network":
            return effects.SENT
        case _:
            return effects.NOT_TOLD
