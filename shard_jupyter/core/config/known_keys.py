"""The keys that exist, read from `Settings`: for documentation, spelling help and dotted names."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from shard_jupyter.core.config.known_providers import find_provider
from shard_jupyter.core.config.layers import KeyPath
from shard_jupyter.core.config.settings import Settings
from shard_jupyter.errors import UsageError


@dataclass(frozen=True)
class KnownKey:
    """One leaf. A part in angle brackets stands for any name: `providers.<prefix>.base_url`.

    Attributes:
        environment: the variable that sets it, empty when none does.
    """

    path: KeyPath
    type_text: str
    default: object
    environment: str
    documentation: str

    @property
    def dotted(self) -> str:
        return ".".join(self.path)


@cache
def known_keys() -> tuple[KnownKey, ...]:
    """All keys, in the order of `Settings`."""
    return tuple(_walk(Settings, ()))


def _walk(model: type[BaseModel], path: KeyPath) -> Iterator[KnownKey]:
    for name, field in model.model_fields.items():
        inner = _inner_model(field.annotation)
        extra = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
        if inner is None or get_origin(field.annotation) is tuple:
            yield _leaf(field, (*path, name), str(extra.get("environment", "")))
        elif get_origin(field.annotation) is dict:
            yield from _walk(inner, (*path, name, f"<{extra['name']}>"))
        else:
            yield from _walk(inner, (*path, name))


def _leaf(field: FieldInfo, path: KeyPath, environment: str) -> KnownKey:
    text = " ".join((field.description or "").split())
    default = field.get_default(call_default_factory=True, validated_data={})
    return KnownKey(path, _type_text(field.annotation), default, environment, text)


_TYPE_WORDS = {str: "string", int: "whole number", float: "number", bool: "true or false"}


def _type_text(annotation: Any) -> str:  # noqa: ANN401 - any annotation
    if get_origin(annotation) is Literal:
        return " or ".join(f'"{value}"' for value in get_args(annotation))
    if get_origin(annotation) in (Union, UnionType):
        return " or ".join(_type_text(member) for member in get_args(annotation))
    if get_origin(annotation) is tuple:
        return "list of rules" if _inner_model(annotation) else "list of strings"
    if annotation is NoneType:
        return "null"
    # An Annotated member of a union keeps its metadata here; a plain field's was taken off.
    return _TYPE_WORDS.get(getattr(annotation, "__origin__", annotation), "string")


def _inner_model(annotation: Any) -> type[BaseModel] | None:  # noqa: ANN401 - any annotation
    """Return the model that an object, a map, a list or an optional of models holds."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _inner_model(part))), None)


def split_key(dotted: str) -> KeyPath:
    """Split a dotted key; a name inside may hold dots itself (`prices.openai:gpt-5.1.…`).

    Raises:
        UsageError: there is no such key.
    """
    parts = dotted.split(".")
    for known in known_keys():
        if (path := _fit(known.path, parts)) is not None:
            return path
    raise UsageError(f'There is no key "{dotted}".', next_step=suggest(tuple(parts)))


def _fit(pattern: KeyPath, parts: Sequence[str]) -> KeyPath | None:
    at = next((index for index, part in enumerate(pattern) if part.startswith("<")), None)
    if at is None:
        return pattern if pattern == tuple(parts) else None
    tail = pattern[at + 1 :]
    name = ".".join(parts[at : len(parts) - len(tail)])
    head_fits = tuple(parts[:at]) == pattern[:at]
    tail_fits = tuple(parts[len(parts) - len(tail) :]) == tail
    return (*pattern[:at], name, *tail) if name and head_fits and tail_fits else None


def suggest(path: Sequence[str]) -> str:
    """Return what to do about an unknown key: the nearest one that exists, if any is near."""
    if path[0] == "providers" and path[-1] == "api_key":
        return key_advice(path[1])
    model, last = _model_at(path[:-1]), path[-1]
    names = list(model.model_fields) if model else []
    if last in names and (section := _model_at(path)):
        inner = ", ".join(f'"{".".join((*path, name))}"' for name in section.model_fields)
        return f"Name a key in it: {inner}."
    near = difflib.get_close_matches(last, names, n=2)
    near = near or [name for name in names if last and name.startswith(last)]
    dotted = [".".join((*path[:-1], name)) for name in near]
    if not dotted:
        known = [key.dotted for key in known_keys()]
        dotted = difflib.get_close_matches(".".join(path), known, n=1)
    if dotted:
        quoted = " or ".join(f'"{name}"' for name in dotted)
        return f"Did you mean {quoted}?"
    return 'All keys are listed by "shard config show".'


def key_advice(prefix: str) -> str:
    """Return where the key of a provider belongs."""
    known = find_provider(prefix)
    variable = known.key_variable if known and known.key_variable else "a variable of any name"
    return (
        f"A secret never stands in the configuration: set {variable} in the environment, or name "
        f'another variable by "providers.{prefix}.api_key_env".'
    )


def _model_at(path: Sequence[str]) -> type[BaseModel] | None:
    """Return the model whose field the next part would name; list indexes count as parts."""
    model: type[BaseModel] = Settings
    parts = iter(path)
    for part in parts:
        field = model.model_fields.get(part)
        inner = _inner_model(field.annotation) if field else None
        if field is None or inner is None:
            return None
        if get_origin(field.annotation) in (dict, tuple):
            next(parts, None)
        model = inner
    return model
