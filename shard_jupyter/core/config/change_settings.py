"""`shard config set` and `unset`: change settings.json, and nothing else.

A value is checked before anything is written. Two changes at once wait for each other.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from shard_jupyter.core.config.config_files import find_config_paths, read_json_object
from shard_jupyter.core.config.known_keys import split_key
from shard_jupyter.core.config.layers import KeyPath, Layer, merge_layers
from shard_jupyter.core.config.load_settings import check_layer, nest
from shard_jupyter.errors import ConfigError
from shard_jupyter.store.atomic_file import PRIVATE_FILE, write_atomic

_LOCK_SECONDS = 10.0


def set_value(environ: Mapping[str, str], dotted: str, text: str) -> Path:
    """Set one key; `text` is JSON, or taken as it is for a key that holds text.

    Returns:
        The file that was written.

    Raises:
        UsageError: no such key.
        ConfigError: the value does not fit, or the file is broken or cannot be written.
    """
    path = split_key(dotted)
    added = Layer("", nest(path, _read_value(path, text)))
    file = find_config_paths(environ).machine_file
    _change(file, lambda old: merge_layers([Layer("", old), added]).values)
    return file


def unset_value(environ: Mapping[str, str], dotted: str) -> bool:
    """Take one key out of settings.json; False when it was not in it.

    Raises:
        UsageError: no such key.
        ConfigError: the file is broken or cannot be written.
    """
    path = split_key(dotted)
    file = find_config_paths(environ).machine_file
    if not holds_key(read_json_object(file) or {}, path):
        return False
    _change(file, lambda old: without_key(old, path))
    return True


def holds_key(values: Mapping[str, Any], path: KeyPath) -> bool:
    inner: Any = values
    for part in path:
        if not isinstance(inner, Mapping) or part not in inner:
            return False
        inner = inner[part]
    return True


def without_key(values: Mapping[str, Any], path: KeyPath) -> dict[str, Any]:
    """Copy, without one leaf and without the objects that this leaves empty."""
    result = dict(values)
    name, rest = path[0], path[1:]
    if rest and holds_key(values, path) and (inner := without_key(result[name], rest)):
        result[name] = inner
    elif holds_key(values, path):
        del result[name]
    return result


def _read_value(path: KeyPath, text: str) -> object:
    """Take the first reading of `text` that fits the key."""
    try:
        readings = [json.loads(text), text]
    except (json.JSONDecodeError, RecursionError):
        readings = [text]
    refusals = []
    for reading in readings:
        try:
            check_layer(Layer("The value", nest(path, reading)), "user")
        except ConfigError as refusal:
            refusals.append(refusal)
        else:
            return reading
    raise refusals[0]


def _change(file: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = file.with_name(f".{file.name}.lock")
        with FileLock(lock, timeout=_LOCK_SECONDS, mode=PRIVATE_FILE):
            old = read_json_object(file) or {}
            check_layer(Layer(str(file), old), "user")
            text = json.dumps(change(old), indent=2, ensure_ascii=False) + "\n"
            # A link to a file kept elsewhere stays a link.
            write_atomic(file.resolve(), text.encode("utf-8"))
    except Timeout as error:
        raise ConfigError(
            f"{file} is being changed by another process.", next_step="Try again."
        ) from error
    except OSError as error:
        raise ConfigError(
            f"{file} cannot be changed: {error.strerror}.",
            next_step="Mend the permissions of its folder.",
        ) from error
