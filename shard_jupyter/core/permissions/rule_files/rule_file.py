"""One rule file: strict JSON, `{"rules": [...]}` or a bare list of rules. Pure but for the reading."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from pydantic import ValidationError
from pydantic_core import ErrorDetails, PydanticSerializationError, to_json

from shard_jupyter.core.config.config_files import read_json_value
from shard_jupyter.core.config.settings import ConfiguredRule
from shard_jupyter.core.files.path_guard import shown
from shard_jupyter.errors import ConfigError
from shard_jupyter.types.decisions import CommandPattern, Rule, RuleSource

MAX_RULES = 1000
MAX_CHARACTERS = 4096
"""Of one text in a rule."""
MAX_STARS = 3
MAX_DEEP = 2
MAX_TOLD = 3
_KNOWN = "A rule has effect, tool, command, path, reason and project."


def read_rule_file(path: Path, source: RuleSource) -> tuple[Rule, ...]:
    """Read the rules of a file that is there.

    Raises:
        ConfigError: it cannot be read, or a rule in it is none; says which.
    """
    value = read_json_value(path)
    if value is None:
        raise ConfigError(f"{shown(str(path))} has just gone.", next_step="Try again.")
    return parse_rules(value, str(path), source)


def parse_rules(value: object, label: str, source: RuleSource) -> tuple[Rule, ...]:
    """Make rules of what a file holds. What is unknown is refused: it may narrow a rule. Pure.

    Raises:
        ConfigError: as `read_rule_file`.
    """
    raw = value
    if isinstance(value, dict):
        raw = value.get("rules")
        unknown = next((key for key in value if key != "rules"), None)
        if unknown is not None:
            _refuse(label, f'unknown key "{unknown}"', 'Only "rules" is known.')
    if not isinstance(raw, list):
        _refuse(label, "holds no list of rules", 'Write {"rules": []}.')
    if len(raw) > MAX_RULES:
        _refuse(label, f"holds more than {MAX_RULES} rules", "Write fewer, wider ones.")
    return tuple(_parse_rule(one, f"{label}: rule {at}", source) for at, one in enumerate(raw, 1))


def _parse_rule(value: Any, label: str, source: RuleSource) -> Rule:  # noqa: ANN401 - any JSON value
    try:
        rule = ConfiguredRule.model_validate_json(to_json(value), strict=True)
    except PydanticSerializationError:
        _refuse(label, "holds text that is no valid Unicode", "Mend it there.")
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False, include_input=False)
        _refuse(label, _describe(faults), _KNOWN)
    why = _find_fault(rule)
    if why:
        _refuse(label, why, "Mend it there.")
    fields = rule.model_dump(exclude={"command", "source"})
    command = rule.command and CommandPattern(**rule.command.model_dump())
    return Rule(**fields, command=command, source=source)


def _describe(faults: Sequence[ErrorDetails]) -> str:
    told = []
    for fault in faults[:MAX_TOLD]:
        name = shown(".".join(str(part) for part in fault["loc"]) or "it")
        is_unknown = fault["type"] == "extra_forbidden"
        message = fault["msg"]
        told.append(
            f'unknown field "{name}"'
            if is_unknown
            else f"{name}: {message[:1].lower()}{message[1:]}"
        )
    return "; ".join(told)


def _find_fault(rule: ConfiguredRule) -> str:
    """Say what makes a rule mean something else than its writer can have meant; empty: nothing."""
    texts = {"tool": rule.tool, "path": rule.path, "program": None, "project": rule.project or None}
    if rule.command is not None:
        texts["program"] = rule.command.program
    for name, text in texts.items():
        if text is not None and not text.strip():
            return f"{name} is empty, so that the rule would never count"
    args = (rule.command.args or ()) if rule.command is not None else ()
    longest = max((len(text or "") for text in (*texts.values(), *args, rule.reason)), default=0)
    if longest > MAX_CHARACTERS or len(args) > MAX_CHARACTERS:
        return f"a text in it is longer than {MAX_CHARACTERS} characters"
    if any("\0" in (text or "") for text in (*texts.values(), *args)):
        return "it holds a zero byte"
    if any(_is_costly(glob) for glob in (rule.path or "", *args)):
        return (
            f"a glob in it has more than {MAX_STARS} * in one name, or {MAX_DEEP} ** before its end"
        )
    if rule.project and not Path(rule.project).is_absolute():
        return "project is not an absolute path"
    return ""


def _is_costly(glob: str) -> bool:
    """Whether a long path could keep the matcher busy for minutes; anybody writes project files."""
    deep = glob.removesuffix("**").count("**")
    stars = max(part.replace("**", "").count("*") for part in glob.split("/"))
    return deep > MAX_DEEP or stars > MAX_STARS


def _refuse(label: str, what: str, next_step: str) -> NoReturn:
    raise ConfigError(f"{shown(label)}: {what}.", next_step=next_step)
