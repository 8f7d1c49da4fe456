"""From a decoded record to a command, for whoever serves clients.

The order of refusal is fixed: version, type, fields. The id is echoed wherever it is a good one;
anything else that a client sent is not repeated, because it may be huge, hostile or secret.
"""

from __future__ import annotations

import re
from typing import Any

from pydantic import ValidationError

from shard_jupyter.errors import CommandError
from shard_jupyter.protocol.agent_commands import AGENT_COMMANDS, Command
from shard_jupyter.protocol.decode_event import EVENTS, describe_invalid
from shard_jupyter.protocol.handshake import Hello
from shard_jupyter.protocol.registry_commands import REGISTRY_COMMANDS
from shard_jupyter.protocol.versions import MAX_VERSION, MIN_VERSION, version_refused
from shard_jupyter.types.ids import ID_PATTERN

COMMAND_TYPES: tuple[type[Command], ...] = (Hello, *AGENT_COMMANDS, *REGISTRY_COMMANDS)
COMMANDS: dict[str, type[Command]] = {
    command.model_fields["type"].default: command for command in COMMAND_TYPES
}
_ID = re.compile(ID_PATTERN)
_SERVER_ONLY = frozenset({*EVENTS, "reply"})


def read_id(record: dict[str, Any]) -> str | None:
    """Return the command's id if it is one."""
    value = record.get("id")
    return value if isinstance(value, str) and _ID.match(value) else None


def decode_command(record: dict[str, Any]) -> Command:
    """Check a record that a client sent.

    Raises:
        CommandError: version, direction (an event or a reply), unknown_type, schema.
    """
    command_id = read_id(record)
    version = record.get("v")
    # `True == 1` in Python, so that a comparison alone would let a truth value through.
    if type(version) is not int:
        raise CommandError("v: a whole number is needed", code="schema", command_id=command_id)
    if not MIN_VERSION <= version <= MAX_VERSION:
        raise version_refused(str(version), command_id)
    model = _find_model(record.get("type"), command_id)
    try:
        return model.model_validate(record)
    except ValidationError as error:
        raise CommandError(describe_invalid(error), code="schema", command_id=command_id) from None


def _find_model(tag: object, command_id: str | None) -> type[Command]:
    if not isinstance(tag, str):
        raise CommandError("type: a text is needed", code="schema", command_id=command_id)
    model = COMMANDS.get(tag)
    if model is not None:
        return model
    shown = repr(tag[:64])
    if tag in _SERVER_ONLY:
        raise CommandError(
            f"{shown} is said by the server only", code="direction", command_id=command_id
        )
    raise CommandError(f"there is no command {shown}", code="unknown_type", command_id=command_id)
