"""Loads every rule file that counts in a workspace (Shard §4.9).

Order of the result: project (the workspace's folder, then each above), the person's, policy: most
specific first. The gate's own order is by effect, whatever stands where.

A broken file of the person or of policy ends the start. One of a project must not: anybody may
have written it. It might have held a deny rule, so that every call asks then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from shard_jupyter.contracts.resource_loader import LoadDiagnostic
from shard_jupyter.core.config.config_files import find_project_folders
from shard_jupyter.core.files.path_guard import shown
from shard_jupyter.core.permissions.rule_files.anchor import anchor_rule, counts_in
from shard_jupyter.core.permissions.rule_files.granted_rules import read_granted
from shard_jupyter.core.permissions.rule_files.rule_file import read_rule_file
from shard_jupyter.core.permissions.rule_files.rule_folder import list_rule_files
from shard_jupyter.core.permissions.rule_files.rule_places import FOLDER, GRANTED, RulePlaces
from shard_jupyter.core.permissions.rule_files.stand_in import stand_in
from shard_jupyter.errors import ConfigError
from shard_jupyter.types.decisions import Rule, RuleSource

MAX_ALL_RULES = 5000
NOT_TRUSTED = "the project is not trusted in this run (--trust-project)"
NOT_HERE = "it is for another project"
ONLY_OWN = "only your own files may name a project"
NO_GLOB = "the name of the folder holds * or ?"


@dataclass(frozen=True)
class ListedRule:
    """One rule of a file, whether it counts or not.

    Attributes:
        rule: as it counts; as it is written where it does not.
        why_not: why it does not count here; empty: it does.
    """

    rule: Rule
    file: str
    why_not: str = ""


@dataclass(frozen=True)
class LoadedRules:
    """What was found.

    Attributes:
        rules: those of `listed` that count, but for `granted.json`: it may change at any time.
    """

    listed: tuple[ListedRule, ...]
    notices: tuple[LoadDiagnostic, ...] = ()
    rules: tuple[Rule, ...] = field(default=())


def load_rules(places: RulePlaces, cwd: Path, *, trust_project: bool) -> LoadedRules:
    """Read everything; call it off the event loop. `cwd` is absolute and real.

    Raises:
        ConfigError: a file of the person or of policy is broken.
    """
    listed: list[ListedRule] = []
    notices: list[LoadDiagnostic] = []
    for folder in find_project_folders(cwd, places.state_home):
        found = _read_project(folder, cwd, trusted=trust_project)
        listed += found.listed
        notices += found.notices
    listed += place_rules(_read_folder(places.user, "user"), cwd)
    for folder in places.policy:
        if folder == places.required_policy and not folder.is_dir():
            raise ConfigError(
                f"SHARD_POLICY names no folder: {shown(str(folder))}.",
                next_step="Make it, or unset SHARD_POLICY.",
            )
        listed += _refuse_projects(_read_folder(folder, "policy"))
    if len(listed) > MAX_ALL_RULES:
        raise ConfigError(f"There are more than {MAX_ALL_RULES} rules.", next_step="Write fewer.")
    granted = str(places.granted.resolve())
    fixed = tuple(one.rule for one in listed if not one.why_not and one.file != granted)
    return LoadedRules(tuple(listed), tuple(notices), fixed)


def place_rules(found: Sequence[ListedRule], cwd: Path) -> Iterator[ListedRule]:
    """Say of the person's own rules which count in `cwd`, and what their paths mean there. Pure."""
    for one in found:
        rule = one.rule
        if not counts_in(rule, cwd):
            yield ListedRule(rule, one.file, NOT_HERE)
        elif (placed := anchor_rule(rule, Path(rule.project or cwd), cwd)) is None:
            yield ListedRule(rule, one.file, NO_GLOB)
        else:
            yield ListedRule(placed, one.file)


def _read_folder(
    folder: Path, source: RuleSource, home: Path | None = None
) -> tuple[ListedRule, ...]:
    return tuple(
        ListedRule(rule, str(file))
        for file in list_rule_files(folder, home=home)
        for rule in _read_file(file, source)
    )


def _read_file(file: Path, source: RuleSource) -> tuple[Rule, ...]:
    if source == "user" and file.name == GRANTED:
        return tuple(kept.rule for kept in read_granted(file))
    return read_rule_file(file, source)


def _refuse_projects(found: Sequence[ListedRule]) -> Sequence[ListedRule]:
    named = next((one for one in found if one.rule.project), None)
    if named is not None:
        raise ConfigError(
            f"{shown(named.file)}: {ONLY_OWN}.", next_step='Take "project" out of its rules.'
        )
    return found


def _read_project(folder: Path, cwd: Path, *, trusted: bool) -> LoadedRules:
    """Read the rules of one `.shard`; whatever is wrong with one file is told, and asks."""
    listed: list[ListedRule] = []
    notices: list[LoadDiagnostic] = []
    try:
        files = list_rule_files(folder / FOLDER, home=folder.parent)
    except ConfigError as error:
        return LoadedRules((_ask_always(folder / FOLDER),), (_tell_broken(folder / FOLDER, error),))
    for file in files:
        try:
            rules = read_rule_file(file, "project")
        except ConfigError as error:
            listed.append(_ask_always(file))
            notices.append(_tell_broken(file, error))
            continue
        ours = [_judge(rule, file, folder.parent, cwd, trusted=trusted) for rule in rules]
        listed += ours
        notices += _tell_left_out(file, ours)
    return LoadedRules(tuple(listed), tuple(notices))


def _judge(rule: Rule, file: Path, root: Path, cwd: Path, *, trusted: bool) -> ListedRule:
    is_allow = rule.effect == "allow"
    if is_allow and not trusted:
        return ListedRule(rule, str(file), NOT_TRUSTED)
    if is_allow and rule.project:
        return ListedRule(rule, str(file), ONLY_OWN)
    anchored = anchor_rule(rule.model_copy(update={"project": ""}), root, cwd)
    if anchored is None:
        return ListedRule(rule, str(file), NO_GLOB)
    return ListedRule(anchored, str(file))


def _ask_always(file: Path) -> ListedRule:
    reason = f"{shown(str(file))} cannot be read, and may hold a rule that forbids it"
    return ListedRule(stand_in(reason), str(file))


def _tell_broken(file: Path, error: ConfigError) -> LoadDiagnostic:
    told = f"{error} Until then every call is asked: it may hold a rule that forbids something."
    return LoadDiagnostic(path=shown(str(file)), message=told)


def _tell_left_out(file: Path, found: Sequence[ListedRule]) -> Iterator[LoadDiagnostic]:
    for why in dict.fromkeys(one.why_not for one in found if one.why_not):
        count = sum(one.why_not == why for one in found)
        what = "An allow rule does" if count == 1 else f"{count} allow rules do"
        message = f"{what} not count: {why}."
        yield LoadDiagnostic(path=shown(str(file)), message=message)
