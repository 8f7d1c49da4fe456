"""The generated part of docs/protocol.md: one table a type, made from the JSON Schema."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel

from shard_jupyter.protocol.connection_events import CONNECTION_EVENTS
from shard_jupyter.protocol.decode_command import COMMANDS
from shard_jupyter.protocol.registry_commands import REGISTRY_EVENTS
from shard_jupyter.protocol.results import RESULTS
from shard_jupyter.protocol.schema_export import GROUPS, Schema, export_schema
from shard_jupyter.types.events import EPHEMERAL, EVENT_TYPES, Event

BEGIN = "<!-- generated: types; python -m tests.protocol.regenerate -->"
END = "<!-- end of generated part -->"

_COMMAND_FIELDS = ("v", "type", "id", "agent_id")
_EVENT_FIELDS = ("v", "type", "agent_id", "turn_id", "seq")
_NOT_SHARED = ("Results", "Unknown")


def replace_generated(page: str) -> str:
    """Return the page with its generated part made anew."""
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n\n{describe_types()}\n{END}{after}"


def describe_types() -> str:
    """Write every command, event and shared type as Markdown."""
    definitions = export_schema()["$defs"]
    parts = ["### Commands\n", *_commands(definitions)]
    for heading, events in (
        ("Events of an agent", EVENT_TYPES),
        ("Events of the registry", REGISTRY_EVENTS),
        ("Events for one client", CONNECTION_EVENTS),
    ):
        parts += [f"### {heading}\n", *_events(definitions, events)]
    parts += ["### Shared types\n", *_shared(definitions)]
    return "\n".join(parts)


def _commands(definitions: Schema) -> Iterable[str]:
    for tag, model in COMMANDS.items():
        schema = definitions[model.__name__]
        scope = "" if "agent_id" in schema["properties"] else " (no `agent_id`)"
        yield f"#### `{tag}`{scope}\n"
        yield from _describe(schema, _COMMAND_FIELDS)
        yield f"Result: {RESULTS[tag].__name__}.\n"


def _events(definitions: Schema, events: Iterable[type[Event]]) -> Iterable[str]:
    for event in events:
        tag = _tag(event)
        yield f"#### `{tag}`{' (ephemeral)' if tag in EPHEMERAL else ''}\n"
        yield from _describe(definitions[event.__name__], _EVENT_FIELDS)


def _shared(definitions: Schema) -> Iterable[str]:
    shown = {model.__name__ for model in (*COMMANDS.values(), *EVENT_TYPES)}
    shown |= {model.__name__ for model in (*REGISTRY_EVENTS, *CONNECTION_EVENTS)}
    shown |= {*_NOT_SHARED, *GROUPS} - {"Reply"}
    for name, schema in definitions.items():
        if name not in shown:
            yield f"#### {name}\n"
            yield from _describe(schema, ())


def _describe(schema: Schema, common: tuple[str, ...]) -> Iterable[str]:
    if schema.get("description"):
        yield f"{schema['description']}\n"
    fields = {
        name: field for name, field in schema.get("properties", {}).items() if name not in common
    }
    if not fields:
        return
    yield "| field | type | default | meaning |"
    yield "| --- | --- | --- | --- |"
    for name, field in fields.items():
        meaning = " ".join(field.get("description", "").split())
        cells = (f"`{name}`", _type_name(field), _default(field), meaning)
        yield f"| {' | '.join(cells)} |"
    yield ""


def _default(field: Schema) -> str:
    if "default" not in field:
        return "required"
    default = field["default"]
    return "its defaults" if isinstance(default, dict) else f"`{json.dumps(default)}`"


def _type_name(field: Schema) -> str:
    """Name a type as in TypeScript; bars are escaped for the table."""
    if "$ref" in field:
        return str(field["$ref"]).rsplit("/", 1)[1]
    if "const" in field:
        return f'`"{field["const"]}"`' if isinstance(field["const"], str) else str(field["const"])
    if "enum" in field:
        return " \\| ".join(f'`"{value}"`' for value in field["enum"])
    for key in ("anyOf", "oneOf"):
        if key in field:
            return " \\| ".join(_type_name(member) for member in field[key])
    return _plain_name(field)


def _plain_name(field: Schema) -> str:
    kind = field.get("type", "any")
    if kind == "string" and field.get("pattern", "").endswith("{1,64}$"):
        return "id"
    if kind == "array" and "prefixItems" in field:
        return f"[{', '.join(_type_name(item) for item in field['prefixItems'])}]"
    if kind == "array":
        inner = _type_name(field.get("items", {}))
        return f"({inner})[]" if " " in inner else f"{inner}[]"
    return str(kind)


def _tag(model: type[BaseModel]) -> Any:  # noqa: ANN401 - a field default has no static type
    return model.model_fields["type"].default
