"""Deny and ask rules over paths that a call may come upon without naming them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from shard_jupyter.core.permissions.call_subject import JudgedCall, Locate
from shard_jupyter.core.permissions.rules import matches, may_lie_below
from shard_jupyter.errors import ToolFailed
from shard_jupyter.types.decisions import Rule


@dataclass(frozen=True)
class Doubt:
    """A rule that may speak of what a call reads.

    Attributes:
        is_certain: the call looks through a folder in which the rule names files, or may.
    """

    rule: Rule
    is_certain: bool


def find_doubt(rules: Sequence[Rule], call: JudgedCall, locate: Locate) -> Doubt | None:
    """Find a rule that a call may come upon; deny rules go before ask rules."""
    speaking = _path_rules(rules, call)
    if not speaking:
        return None
    folders = tuple(_folders_read(call, locate))
    for rule in speaking:
        if any(may_lie_below(rule.path or "", each, call.subject.cwd) for each in folders):
            return Doubt(rule, is_certain=True)
    return Doubt(speaking[0], is_certain=False) if _reads_unknown_paths(call) else None


def globs_to_leave_out(rules: Sequence[Rule], call: JudgedCall) -> tuple[str, ...]:
    """What a tool that looks through folders has to leave out: it is not the path it was given."""
    if not call.request.reach.obeys_context or call.verdict is not None:
        return ()
    return tuple(dict.fromkeys(rule.path or "" for rule in _path_rules(rules, call)))


def _path_rules(rules: Sequence[Rule], call: JudgedCall) -> list[Rule]:
    found = [
        rule
        for rule in rules
        if rule.effect != "allow"
        and rule.path is not None
        and matches(rule.model_copy(update={"path": None}), call.subject)
    ]
    return sorted(found, key=lambda rule: rule.effect != "deny")


def _folders_read(call: JudgedCall, locate: Locate) -> Iterator[str]:
    """Yield the folders that are read to any depth, by all their names."""
    reach, cwd = call.request.reach, call.request.cwd
    if call.verdict is None:
        if not reach.obeys_context and reach.kind in ("read", "execute"):
            yield from (str(place.real) for place in call.places if place.real.is_dir())
        return
    for command in call.verdict.commands:
        recorded = _recorded_below(command.words) if command.argv.is_git else ()
        for given in (*command.argv.reads_below, *recorded):
            yield os.path.normpath(cwd / given)
            with suppress(ToolFailed):
                yield str(locate(cwd, given).real)


_SHOWS_CONTENT = frozenset(("show", "stash", "diff-tree", "log", "reflog", "whatchanged"))
_WITH_OPTION = frozenset(("log", "reflog", "stash"))
_PATCH = ("-p", "-u", "--patch", "-c", "--cc", "-m", "-U", "--unified", "-W", "--function-context",
          "--binary", "--diff-merges", "--word-diff", "--color-words", "-L")  # fmt: skip


def _recorded_below(words: Sequence[str]) -> tuple[str, ...]:
    """The folders of which git shows what it has recorded: no file is read, yet all of it is told.

    A word such as `HEAD:src/a.py` names its one file.
    """
    plain = [word for word in words[1:] if not word.startswith("-")]
    name, operands = (plain[0], plain[1:]) if plain else ("", [])
    if name not in _SHOWS_CONTENT:
        return ()
    if name in _WITH_OPTION and not any(word.startswith(_PATCH) for word in words):
        return ()
    if "--" in words:
        return tuple(words[words.index("--") + 1 :]) or (".",)
    return () if operands and all(":" in word for word in operands) else (".",)


def _reads_unknown_paths(call: JudgedCall) -> bool:
    """It reads in a folder that is not the workspace, or what a pattern stands for."""
    verdict = call.verdict
    if verdict is None:
        return False
    reads = any(command.argv.reads for command in verdict.commands)
    has_glob = any(command.has_glob for command in verdict.commands)
    return (call.moves and reads) or (has_glob and not verdict.is_safe)
