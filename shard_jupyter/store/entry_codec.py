"""From an entry to a line of a log and back. Pure; works on bytes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, NoReturn

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError, from_json

from shard_jupyter.errors import StorageError
from shard_jupyter.store.open_report import FindingKind
from shard_jupyter.store.surrogates import REPLACEMENT, clean_value
from shard_jupyter.types.session_entries import (
    CheckpointEntry,
    CompactionEntry,
    Entry,
    GrantEntry,
    IntentEntry,
    MessageEntry,
    PermissionEntry,
    SessionEntry,
    SessionHeader,
    ToolResultEntry,
    TurnEndEntry,
)
from shard_jupyter.types.wire_model import Unknown

LINE_LIMIT = 64 << 20
"""Bytes of one line, its end not counted."""

_REPLACED = REPLACEMENT.encode()
_KNOWN: dict[str, type[Entry]] = {
    entry_type.model_fields["type"].default: entry_type
    for entry_type in (
        SessionHeader,
        MessageEntry,
        IntentEntry,
        ToolResultEntry,
        PermissionEntry,
        CheckpointEntry,
        CompactionEntry,
        GrantEntry,
        TurnEndEntry,
    )
}


@dataclass(frozen=True)
class Decoded:
    """What a line holds. `kind` None: nothing to report; `entry` None: it holds no entry."""

    entry: SessionEntry | None
    kind: FindingKind | None = None
    reason: str = ""


def encode_entry(entry: SessionEntry) -> tuple[bytes, SessionEntry]:
    """Return the line, without its end, and the entry with its half characters replaced.

    Raises:
        StorageError: `unstorable_entry`, it cannot be written so that it can be read again.
    """
    try:
        line = entry.model_dump_json(by_alias=True, exclude_none=False).encode()
    except PydanticSerializationError:
        entry, line = _encode_cleaned(entry)
    else:
        # In a key the serialiser replaces half characters itself, three signs for one.
        if _REPLACED in line:
            entry, line = _encode_cleaned(entry)
    try:
        # Readers stop at a lower nesting than the writer does; found out now or never.
        from_json(line)
    except ValueError as error:
        _refuse(entry, str(error))
    if len(line) > LINE_LIMIT:
        _refuse(entry, f"it has {len(line)} bytes, {LINE_LIMIT} are the most")
    if not entry_id(entry):
        _refuse(entry, "it has no id")
    return line, entry


def _encode_cleaned(entry: SessionEntry) -> tuple[SessionEntry, bytes]:
    """Encode once more with U+FFFD in place of half characters."""
    try:
        data = clean_value(entry.model_dump(by_alias=True))
        if isinstance(entry, Unknown):
            cleaned: SessionEntry = Unknown(tag=entry.tag, raw=data)
        else:
            cleaned = type(entry).model_validate(data)
        return cleaned, cleaned.model_dump_json(by_alias=True, exclude_none=False).encode()
    except (PydanticSerializationError, ValidationError, RecursionError) as error:
        _refuse(entry, str(error))


def _refuse(entry: SessionEntry, reason: str) -> NoReturn:
    raise StorageError(
        f"An entry of type {entry_tag(entry)!r} cannot be stored: {reason}.",
        code="unstorable_entry",
    )


def decode_line(line: bytes) -> Decoded:
    """Read one line, its end cut off. Never raises.

    Zero bytes around an object, as a power cut leaves them, do not hide the object.
    """
    text = line.strip(b"\0")
    zeros = len(line) - len(text)
    if not text:
        reason = f"{zeros} zero bytes, as a power cut leaves them" if zeros else "an empty line"
        return Decoded(None, "damaged_line", reason)
    try:
        value, was_cleaned = _parse(text)
    except (ValueError, RecursionError) as error:
        return Decoded(None, "damaged_line", f"not JSON, {error}")
    if not isinstance(value, dict):
        return Decoded(None, "damaged_line", "not an object")
    if not isinstance(value.get("id"), str) or not value["id"]:
        return Decoded(None, "damaged_line", "an object without an id")
    decoded = _as_entry(value)
    if zeros:
        return Decoded(decoded.entry, "damaged_line", f"{zeros} zero bytes beside an entry")
    if was_cleaned and decoded.kind is None:
        return Decoded(decoded.entry, "half_characters", "half characters became U+FFFD")
    return decoded


def _parse(text: bytes) -> tuple[Any, bool]:
    try:
        return from_json(text), False
    except ValueError:
        # The strict parser refuses an escaped half character; the rest of the entry is good.
        if b"\\u" not in text:
            raise
        return clean_value(json.loads(text.decode("utf-8"))), True


def _as_entry(value: dict[str, Any]) -> Decoded:
    tag = value.get("type")
    entry_type = _KNOWN.get(tag) if isinstance(tag, str) else None
    if entry_type is None:
        return Decoded(Unknown(tag=str(tag or ""), raw=value))
    try:
        entry: Any = entry_type.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        reason = f"type {tag}, {where}: {first['msg']}"
        return Decoded(Unknown(tag=str(tag), raw=value), "unfit_entry", reason)
    return Decoded(entry)


def entry_tag(entry: SessionEntry) -> str:
    return entry.tag if isinstance(entry, Unknown) else entry.type


def entry_id(entry: SessionEntry) -> str:
    """Return the id; of an entry of a newer version too."""
    return str(entry.raw.get("id", "")) if isinstance(entry, Unknown) else entry.id


def entry_parent(entry: SessionEntry) -> str | None:
    """Return the id of the parent; None for the root of a branch."""
    if isinstance(entry, Unknown):
        parent = entry.raw.get("parentId")
        return parent if isinstance(parent, str) else None
    return entry.parent_id
