"""Merge layers of settings, later over earlier, and remember where each value came from. Pure.

Objects are merged key by key; everything else replaces what was there. `null` is a value like
any other. Keys named as appended are lists to which each layer adds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

KeyPath = tuple[str, ...]


@dataclass(frozen=True)
class Layer:
    """One source of settings. `label` says in words which: a file, a variable, an option."""

    label: str
    values: Mapping[str, Any]


@dataclass
class Merged:
    """What holds in the end.

    Attributes:
        values: nested dictionaries, shared with no layer.
        sources: the label behind each leaf; an empty object is a leaf too.
    """

    values: dict[str, Any] = field(default_factory=dict)
    sources: dict[KeyPath, str] = field(default_factory=dict)


def merge_layers(layers: Iterable[Layer], appended: Collection[KeyPath] = ()) -> Merged:
    """Merge, the last layer winning."""
    merged = Merged()
    for layer in layers:
        _merge_object(merged, merged.values, layer, layer.values, (), appended)
    return merged


def _merge_object(
    merged: Merged,
    target: dict[str, Any],
    layer: Layer,
    values: Mapping[str, Any],
    path: KeyPath,
    appended: Collection[KeyPath],
) -> None:
    for key, value in values.items():
        here = (*path, key)
        old = target.get(key)
        if isinstance(value, Mapping) and isinstance(old, dict):
            if value:
                merged.sources.pop(here, None)
                _merge_object(merged, old, layer, value, here, appended)
        elif here in appended and isinstance(value, list | tuple) and isinstance(old, list):
            if value:
                before = f"{merged.sources[here]}, " if old else ""
                old.extend(_copy(item) for item in value)
                merged.sources[here] = f"{before}{layer.label}"
        else:
            _forget(merged.sources, here)
            target[key] = _copy(value)
            _name_source(merged.sources, here, target[key], layer.label)


def _copy(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(value, Mapping):
        return {key: _copy(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_copy(item) for item in value]
    return value


def _forget(sources: dict[KeyPath, str], path: KeyPath) -> None:
    for other in [known for known in sources if known[: len(path)] == path]:
        del sources[other]


def _name_source(
    sources: dict[KeyPath, str],
    path: KeyPath,
    value: Any,  # noqa: ANN401 - any JSON value
    label: str,
) -> None:
    if isinstance(value, dict) and value:
        for key, item in value.items():
            _name_source(sources, (*path, key), item, label)
    else:
        sources[path] = label
