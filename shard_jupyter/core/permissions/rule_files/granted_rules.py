"""`granted.json`: the rules that a person's "always" has made, for a project or everywhere.

It is a rule file of the person's own, `{"rules": [...], "given": {...}}`, and may be edited by
hand. `given` says of a rule, by its id, who gave it and when. A broken file is never written over.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shard_jupyter.core.config.config_files import read_json_value
from shard_jupyter.core.files.path_guard import shown
from shard_jupyter.core.permissions.rule_files.anchor import anchor_rule, counts_in
from shard_jupyter.core.permissions.rule_files.kept_file import ReadAgain, changing, replace_text
from shard_jupyter.core.permissions.rule_files.rule_file import MAX_RULES, parse_rules
from shard_jupyter.core.permissions.rule_files.stand_in import stand_in
from shard_jupyter.errors import ConfigError
from shard_jupyter.types.decisions import Rule

_GIVEN = ("by", "at")


@dataclass(frozen=True)
class GrantedRule:
    """A rule and where it came from. `given_by` is empty where it was written by hand."""

    rule_id: str
    rule: Rule
    given_by: str = ""
    given_at: str = ""


def name_rule(rule: Rule) -> str:
    """Derive the id of a rule from what it says. Pure."""
    text = json.dumps(_dump(rule), sort_keys=True)
    return f"rule-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def read_granted(path: Path) -> tuple[GrantedRule, ...]:
    """Read the file; nothing where there is none. Blocking.

    Raises:
        ConfigError: it is broken; says where.
    """
    value = read_json_value(path)
    if value is None:
        return ()
    given: dict[str, Any] = {}
    if isinstance(value, dict) and "given" in value:
        given = _check_given(path, value["given"])
        value = {key: part for key, part in value.items() if key != "given"}
    rules = dict.fromkeys(parse_rules(value, str(path), "user"))
    return tuple(_with_origin(rule, given.get(name_rule(rule), {})) for rule in rules)


def _check_given(path: Path, value: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON value
    is_fine = isinstance(value, dict) and all(
        isinstance(one, dict) and all(isinstance(text, str) for text in one.values())
        for one in value.values()
    )
    if not is_fine:
        raise ConfigError(
            f'{shown(str(path))}: "given" is not as it was written.',
            next_step='Mend it, or take "given" out: the rules count without it.',
        )
    return dict(value)


def _with_origin(rule: Rule, origin: dict[str, str]) -> GrantedRule:
    by, at = (origin.get(key, "") for key in _GIVEN)
    return GrantedRule(name_rule(rule), rule, by, at)


def keep_rule(path: Path, rule: Rule, *, by: str, at: str) -> GrantedRule:
    """Add a rule, unless it is there. Blocking; concurrent writers lose nothing.

    Raises:
        ConfigError: the file is broken; it stays as it is.
        StorageError: it cannot be written.
    """
    kept = GrantedRule(name_rule(rule), rule.model_copy(update={"source": "user"}), by, at)
    with changing(path):
        old = read_granted(path)
        if kept.rule_id not in {one.rule_id for one in old}:
            if len(old) >= MAX_RULES:
                raise ConfigError(
                    f"{shown(str(path))} is full: it holds {MAX_RULES} rules.",
                    next_step="`shard grants` lists them; revoke some.",
                )
            _write(path, (*old, kept))
    return kept


def revoke_rules(path: Path, rule_ids: Collection[str] | None) -> tuple[GrantedRule, ...]:
    """Take rules out, all of them for None; returns those that were there. Blocking.

    Raises:
        ConfigError, StorageError: as `keep_rule`.
    """
    if not path.exists():
        return ()
    with changing(path):
        old = read_granted(path)
        gone = tuple(one for one in old if rule_ids is None or one.rule_id in rule_ids)
        if gone:
            _write(path, [one for one in old if one not in gone])
    return gone


def _write(path: Path, rules: Iterable[GrantedRule]) -> None:
    kept = tuple(rules)
    given = {one.rule_id: {"by": one.given_by, "at": one.given_at} for one in kept if one.given_by}
    value: dict[str, Any] = {"rules": [_dump(one.rule) for one in kept]}
    if given:
        value["given"] = given
    replace_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def _dump(rule: Rule) -> dict[str, Any]:
    fields = rule.model_dump(mode="json", exclude_defaults=True, exclude={"source"})
    return {"effect": rule.effect, **fields}


class GrantedRules:
    """The rules of `granted.json` that count in a workspace, as they are at each look. Blocking."""

    def __init__(self, path: Path, cwd: Path) -> None:
        self.path = path
        self._cwd = cwd
        self._now = ReadAgain(path, self._read)

    def rules(self) -> tuple[Rule, ...]:
        """Return them. While the file is broken there is one, which asks for everything."""
        return self._now.content()

    def _read(self) -> tuple[Rule, ...]:
        try:
            found = read_granted(self.path)
        except ConfigError as error:
            reason = f"{error.message} It may hold a rule that forbids it"
            return (stand_in(reason),)
        here = (one.rule for one in found if counts_in(one.rule, self._cwd))
        placed = (anchor_rule(rule, Path(rule.project or self._cwd), self._cwd) for rule in here)
        return tuple(rule for rule in placed if rule is not None)
