"""All rules that count in a workspace: those of rule files and those of the configuration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from shard_jupyter.contracts.resource_loader import LoadDiagnostic
from shard_jupyter.core.config.load_settings import RULES, LoadedSettings
from shard_jupyter.core.permissions.rule_files.anchor import anchor_rule
from shard_jupyter.core.permissions.rule_files.load_rules import (
    NO_GLOB,
    ONLY_OWN,
    ListedRule,
    load_rules,
    place_rules,
)
from shard_jupyter.core.permissions.rule_files.rule_places import find_rule_places
from shard_jupyter.types.decisions import CommandPattern, Rule


@dataclass(frozen=True)
class GatheredRules:
    """What the gate of one agent gets.

    Attributes:
        rules: those that count, but for the rules in `granted`, which is read again and again.
        listed: every rule there is, also those that do not count here.
    """

    rules: tuple[Rule, ...]
    granted: Path
    listed: tuple[ListedRule, ...]
    notices: tuple[LoadDiagnostic, ...]


def gather_rules(
    loaded: LoadedSettings, environ: Mapping[str, str], cwd: Path, *, trust_project: bool
) -> GatheredRules:
    """Read all rule files; call it off the event loop.

    Raises:
        ConfigError: a file of the person or of policy is broken.
    """
    here = cwd.resolve()
    places = find_rule_places(environ)
    files = load_rules(places, here, trust_project=trust_project)
    configured = tuple(_place_configured(loaded, here))
    counting = tuple(one.rule for one in configured if not one.why_not)
    return GatheredRules(
        rules=(*files.rules, *counting),
        granted=places.granted,
        listed=(*files.listed, *configured),
        notices=files.notices,
    )


def _place_configured(loaded: LoadedSettings, cwd: Path) -> Iterator[ListedRule]:
    """Yield the rules under `permissions.rules`, as they count in `cwd`."""
    file = loaded.sources.get(RULES, "")
    rules = tuple(map(_plain, loaded.settings.permissions.rules))
    own = [ListedRule(rule, file) for rule in rules if rule.source != "project"]
    yield from place_rules(own, cwd)
    if loaded.project_file is None:
        return
    root = loaded.project_file.parent.parent
    for rule in rules:
        if rule.source == "project":
            yield _place_of_project(rule, str(loaded.project_file), root, cwd)


def _place_of_project(rule: Rule, file: str, root: Path, cwd: Path) -> ListedRule:
    if rule.effect == "allow" and rule.project:
        return ListedRule(rule, file, ONLY_OWN)
    anchored = anchor_rule(rule.model_copy(update={"project": ""}), root, cwd)
    return ListedRule(rule, file, NO_GLOB) if anchored is None else ListedRule(anchored, file)


def _plain(rule: Rule) -> Rule:
    """The rule itself, of the type that the gate and the log know."""
    fields = rule.model_dump(exclude={"command"})
    command = rule.command and CommandPattern(**rule.command.model_dump())
    return Rule(**fields, command=command)
