"""Where a run is recorded to, and what must not stand in the file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from shard_jupyter.capabilities.cassettes.cassette import CassetteWriter
from shard_jupyter.capabilities.cassettes.placeholders import Placeholders, find_secrets
from shard_jupyter.capabilities.cassettes.recording import RecordingProvider
from shard_jupyter.contracts.provider import Provider
from shard_jupyter.errors import UsageError
from shard_jupyter.surfaces.sdk.who_decides import plays_cassette


def check_record(record: Path | None, model_id: str) -> None:
    """Refuse a cassette that has no place, before a model was paid for an answer. Blocks.

    Raises:
        UsageError: its folder does not exist or may not be written, it is a folder itself, or it
            is the one that is played.
    """
    if record is None:
        return
    if not _has_place(record):
        raise UsageError(
            f"The cassette {record} cannot be written.",
            next_step="Name a file in a folder that exists and that you may write.",
        )
    played = model_id.partition(":")[2] if plays_cassette(model_id) else ""
    if played and os.path.realpath(played) == os.path.realpath(record):
        raise UsageError(
            f"The cassette {record} is the one that is played.",
            next_step="Record to another file, and put it in the place of this one afterwards.",
        )


def _has_place(record: Path) -> bool:
    if "\0" in str(record):
        return False
    try:
        target = record if record.exists() else record.parent
        return not record.is_dir() and os.access(target, os.W_OK)
    except OSError:  # a name that no file can have
        return False


def make_placeholders(
    places: Mapping[str, str], environment: Mapping[str, str], secret_names: Iterable[str]
) -> Placeholders:
    """Name what must not be told: this machine's folders and every key that is set."""
    keys = {f"{name}_KEY": environment.get(name, "") for name in secret_names}
    return Placeholders(places, find_secrets(environment, keys))


def record_into(writer: CassetteWriter, provider: Provider, placeholders: Placeholders) -> Provider:
    """Put the recorder around a provider, unless it is there already."""
    if isinstance(provider, RecordingProvider) and provider.writer is writer:
        return provider
    return RecordingProvider(provider, writer, placeholders)
