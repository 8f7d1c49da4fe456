"""What lets a call run without a question: grants and allow rules, or the policy itself.

Pure but for `Locate`, which looks where paths lead.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from shard_jupyter.core.permissions.call_subject import CHANGES_FOLDER, JudgedCall, Locate
from shard_jupyter.core.permissions.rules import (
    has_wildcard,
    matches,
    means,
    parsed_commands,
    speaks_of_call,
    words_under_wildcard,
)
from shard_jupyter.core.permissions.shell.parse_command import parse_command
from shard_jupyter.core.permissions.shell.parsed_command import NotUnderstood, all_redirections
from shard_jupyter.core.permissions.shell.shell_verdict import SimpleReading
from shard_jupyter.errors import ToolFailed
from shard_jupyter.types.decisions import Rule


@dataclass(frozen=True)
class Cover:
    """What rules allow of a call.

    Attributes:
        used: the rules that count.
        left: the simple commands that nothing allows; None: no rule allows the call.
    """

    used: tuple[Rule, ...] = ()
    left: tuple[SimpleReading, ...] | None = None

    @property
    def is_whole(self) -> bool:
        return bool(self.used) and self.left == ()


def find_cover(
    rules: Sequence[Rule], call: JudgedCall, locate: Locate, *, trust_policy: bool
) -> Cover:
    """Find allow rules that together let a call run.

    A chain runs if every simple command of it is allowed by some rule or, with `trust_policy`,
    plainly only reads, and nothing in it writes to a file by a redirection.
    """
    allowing = [rule for rule in rules if rule.effect == "allow"]
    guarded = any(place.protected for place in call.places)
    for rule in allowing:
        counts = not guarded or _names_one_path(rule)
        if counts and rule.command is None and matches(rule, call.subject):
            return Cover((rule,), ())
    commands = parsed_commands(call.subject)
    if not commands or not all(_reads_freely(path, call, locate) for path in _inputs(call)):
        return Cover()
    used, left = [], []
    for command in commands:
        found = _find_rule(allowing, command, call, locate)
        if found is not None:
            used.append(found)
        elif not (trust_policy and only_reads(command, call, locate)):
            left.append(command)
    return Cover(tuple(dict.fromkeys(used)), tuple(left))


def _find_rule(
    rules: Sequence[Rule], command: SimpleReading, call: JudgedCall, locate: Locate
) -> Rule | None:
    for rule in rules:
        pattern = rule.command
        if pattern is None or rule.path is not None or not speaks_of_call(rule, call.subject):
            continue
        words = words_under_wildcard(pattern, command) if means(pattern, command) else None
        if words is not None and all(_is_contained(word, call, locate) for word in words):
            return rule
    return None


def _inputs(call: JudgedCall) -> Iterator[str]:
    """The files that redirections feed to commands: rules speak of words alone."""
    parsed = parse_command(call.subject.command or "")
    redirections = () if isinstance(parsed, NotUnderstood) else all_redirections(parsed)
    for redirection in redirections:
        if redirection.operator == "<" and redirection.target.text != os.devnull:
            yield redirection.target.text


def only_reads(command: SimpleReading, call: JudgedCall, locate: Locate) -> bool:
    """Whether a part of a chain may run beside what rules allow, as it is written.

    It will not run confined, so what needs that for being harmless does not count.
    """
    argv = command.argv
    if call.moves or command.problem:
        return False
    if command.words[0] in CHANGES_FOLDER:
        return True  # to where it is already
    if argv.why_not or argv.is_git or argv.network or argv.writes or command.has_glob:
        return False
    if argv.run_as and argv.run_as != command.words:
        return False
    return all(_reads_freely(path, call, locate) for path in argv.reads)


def _reads_freely(path: str, call: JudgedCall, locate: Locate) -> bool:
    if call.moves:
        return False
    with suppress(ToolFailed):
        return locate(call.request.cwd, path).reads_freely
    return False


def _is_contained(path: str, call: JudgedCall, locate: Locate) -> bool:
    if call.moves:
        return False
    with suppress(ToolFailed):
        place = locate(call.request.cwd, path)
        return place.inside and not place.protected
    return False


def _names_one_path(rule: Rule) -> bool:
    path = rule.path or ""
    return bool(path) and not path.endswith("/") and not has_wildcard(path)


def allow_contained_reads(call: JudgedCall) -> bool:
    """Reads inside the workspace of what holds no secret by its name; nothing else."""
    request = call.request
    if not request.read_only or request.reach.kind not in ("read", "none"):
        return False
    return all(place.reads_freely for place in call.places)
