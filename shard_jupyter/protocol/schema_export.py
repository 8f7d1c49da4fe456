"""The whole protocol as one JSON Schema document; TypeScript types are generated from it.

Commands are described as a client may send them: what has a default may be left out. Everything
else is described as it is written, complete, also where a command contains it. Open unions end in
`Unknown`, which is any object, so that a newer peer's record is still valid.
"""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from shard_jupyter.protocol.decode_command import COMMAND_TYPES
from shard_jupyter.protocol.decode_event import EVENTS
from shard_jupyter.protocol.envelope import Reply
from shard_jupyter.protocol.results import RESULTS
from shard_jupyter.protocol.versions import MAX_VERSION
from shard_jupyter.types.render_descriptors import RenderDescriptor
from shard_jupyter.types.session_entries import SessionEntry
from shard_jupyter.types.wire_model import open_union

Schema = dict[str, Any]
_Mode = Literal["validation", "serialization"]

GROUPS = ("Command", "Reply", "Event", "Entry", "Descriptor")
DIALECT = "https://json-schema.org/draft/2020-12/schema"
ANY_OBJECT: Schema = {
    "type": "object",
    "additionalProperties": True,
    "description": "Something that this version does not know. Show its text, if it has one.",
}


def export_schema() -> Schema:
    """Build the document. The same package version gives the same document."""
    groups, shared = TypeAdapter.json_schemas(_adapters(), ref_template="#/$defs/{model}")
    definitions: Schema = {
        name: schema for name, schema in shared["$defs"].items() if not name.endswith("-Input")
    }
    for group in GROUPS:
        definitions.setdefault(group, groups[group, _mode_of(group)])
    definitions["Results"] = _results(groups)
    definitions = {name.removesuffix("-Output"): definitions[name] for name in definitions}
    definitions["Unknown"] = ANY_OBJECT
    for command in COMMAND_TYPES:
        schema = definitions[command.__name__]
        schema["required"] = ["v", "type", *schema["required"]]
    return {
        "$schema": DIALECT,
        "$id": f"urn:shard-jupyter:protocol:{MAX_VERSION}",
        "description": "One record of the protocol. Generated; see docs/protocol.md.",
        "anyOf": [{"$ref": f"#/$defs/{name}"} for name in ("Command", "Reply", "Event")],
        "$defs": {name: _clean(definitions[name]) for name in sorted(definitions)},
    }


def _adapters() -> list[tuple[str, _Mode, TypeAdapter[Any]]]:
    adapters = [(group, _mode_of(group), adapter) for group, adapter in _group_adapters().items()]
    adapters += [(f"{tag} result", "serialization", TypeAdapter(RESULTS[tag])) for tag in RESULTS]
    return adapters


def _mode_of(group: str) -> _Mode:
    return "validation" if group == "Command" else "serialization"


def _group_adapters() -> dict[str, TypeAdapter[Any]]:
    commands: Any = reduce(or_, COMMAND_TYPES)
    command: Any = Annotated[commands, Field(discriminator="type")]
    event: Any = open_union("type", *EVENTS.values())
    return {
        "Command": TypeAdapter(command),
        "Reply": TypeAdapter(Reply),
        "Event": TypeAdapter(event),
        "Entry": TypeAdapter(SessionEntry),
        "Descriptor": TypeAdapter(RenderDescriptor),
    }


def _results(groups: dict[tuple[str, _Mode], Schema]) -> Schema:
    """Say for each command what an ok reply to it holds."""
    return {
        "type": "object",
        "description": "By command type: the `result` of an ok reply.",
        "properties": {tag: groups[f"{tag} result", "serialization"] for tag in RESULTS},
    }


def _clean(node: Any) -> Any:  # noqa: ANN401 - any part of a schema
    """Strip generated titles; let a member of an open union match `Unknown` too."""
    if isinstance(node, list):
        return [_clean(item) for item in node]
    if isinstance(node, str) and node.startswith("#/$defs/"):
        return node.removesuffix("-Input").removesuffix("-Output")
    if not isinstance(node, dict):
        return node
    clean = {
        key: _clean(value)
        for key, value in node.items()
        if not (key == "title" and isinstance(value, str))
    }
    unknown = {"$ref": "#/$defs/Unknown"}
    if unknown in clean.get("oneOf", []):
        members = clean.pop("oneOf")
        clean["anyOf"] = [one for one in members if one != unknown] + [unknown]
    return clean
