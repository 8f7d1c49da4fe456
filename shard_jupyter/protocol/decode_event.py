"""From a decoded record to an event or a reply, for clients.

A client must outlive a newer server: an event of a type it does not know, or of a known type in
a shape it does not know, becomes `Unknown(tag, raw)`, which serialises to exactly what came.
Whoever shows it shows its text fallback. Unknown fields of known events are kept.
"""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from shard_jupyter.errors import FrameError
from shard_jupyter.protocol.connection_events import CONNECTION_EVENTS
from shard_jupyter.protocol.envelope import Reply
from shard_jupyter.protocol.registry_commands import REGISTRY_EVENTS
from shard_jupyter.types.events import EVENT_TYPES, Event
from shard_jupyter.types.wire_model import Unknown

EVENTS: dict[str, type[Event]] = {
    event.model_fields["type"].default: event
    for event in (*EVENT_TYPES, *REGISTRY_EVENTS, *CONNECTION_EVENTS)
}


def decode_event(record: dict[str, Any]) -> Event | Unknown:
    """Read an event; never refuses one."""
    tag = record.get("type")
    tag = tag if isinstance(tag, str) else ""
    model = EVENTS.get(tag)
    if model is None or type(record.get("v")) is not int:
        return Unknown(tag=tag, raw=record)
    try:
        return model.model_validate(record)
    except ValidationError:
        return Unknown(tag=tag, raw=record)


def decode_reply(record: dict[str, Any]) -> Reply:
    """Read a reply.

    Raises:
        FrameError: schema. A client cannot guess what a server meant by half a reply.
    """
    try:
        return Reply.model_validate(record)
    except ValidationError as error:
        raise FrameError(describe_invalid(error), code="schema") from None


def decode_server_record(record: dict[str, Any]) -> Event | Reply | Unknown:
    """Read whatever a server sent.

    Raises:
        FrameError: schema, a broken reply.
    """
    return decode_reply(record) if record.get("type") == "reply" else decode_event(record)


def describe_invalid(error: ValidationError) -> str:
    """Say which field is wrong and how, without repeating its value."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"{where}: {first['msg']}"[:300] if where else first["msg"][:300]
