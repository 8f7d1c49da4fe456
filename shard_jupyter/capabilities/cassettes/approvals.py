"""What a person answered, as a line of a cassette. Pure.

The line says which call was asked for and what became of it, and neither who answered nor when. A
call is looked up by its tool and its arguments, written as everything else in a cassette is.
"""

from __future__ import annotations

from typing import Any

from shard_jupyter.capabilities.cassettes.canonical import Json, dump
from shard_jupyter.capabilities.cassettes.placeholders import (
    Numbering,
    Placeholders,
    map_strings,
)
from shard_jupyter.contracts.provider import RecordedAnswer
from shard_jupyter.contracts.tool import Arguments

APPROVAL = "approval"


def approval_entry(
    tool: str, arguments: Arguments, answer: RecordedAnswer, placeholders: Placeholders
) -> Json:
    """Write one answer. Ids are numbered within the line."""
    numbering = Numbering()

    def hide(value: object) -> Any:  # noqa: ANN401 - any JSON value
        return map_strings(value, lambda text: placeholders.hide(text, numbering))

    entry: Json = {
        "type": APPROVAL,
        "tool": tool,
        "arguments": hide(dict(arguments)),
        "decision": answer.decision,
    }
    if answer.recovered:
        entry["recovered"] = True
    if answer.note:
        entry["note"] = hide(answer.note)
    if answer.rule is not None:
        rule = answer.rule.model_dump(mode="json", exclude_defaults=True)
        entry["rule"] = {"effect": answer.rule.effect, **hide(rule)}
    if answer.arguments is not None:
        entry["edited"] = hide(answer.arguments)
    return entry


def approval_key(
    tool: str,
    arguments: Arguments,
    placeholders: Placeholders,
    numbering: Numbering,
    *,
    recovered: bool = False,
) -> str:
    """Name the call that is asked for as the line of its answer does."""
    hidden = map_strings(dict(arguments), lambda text: placeholders.hide(text, numbering))
    return dump([tool, hidden, recovered])


def key_of_entry(entry: Json) -> str:
    """Return the key of a line that was read.

    Raises:
        KeyError, TypeError, ValueError: it is not of the form that is written.
    """
    recovered = _read(entry).recovered
    return dump([entry["tool"], entry["arguments"], recovered])


def read_approval(entry: Json, placeholders: Placeholders, numbering: Numbering) -> RecordedAnswer:
    """Make a recorded answer one of this run. `numbering`: that of the key it was found by."""
    return _read(map_strings(entry, lambda text: placeholders.show(text, numbering)))


def _read(entry: Json) -> RecordedAnswer:
    fields = {name: entry[name] for name in ("note", "rule", "recovered") if name in entry}
    return RecordedAnswer(decision=entry["decision"], arguments=entry.get("edited"), **fields)
