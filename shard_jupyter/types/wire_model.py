"""Base classes of everything that crosses a process or lands in a file.

Two of them, because a command and a log have different duties (DESIGN §5): unknown fields of a
command are ignored, those of a log entry are kept and written again.

`open_union` makes a tagged union that survives a newer peer: a kind this version does not know
becomes `Unknown(kind, raw)`, which serialises back to exactly what came in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    SerializerFunctionWrapHandler,
    Tag,
    model_serializer,
    model_validator,
)


class WireModel(BaseModel):
    """Frozen; unknown fields are ignored."""

    model_config = ConfigDict(
        frozen=True,
        extra="ignore",
        populate_by_name=True,
        json_schema_serialization_defaults_required=True,
        ser_json_inf_nan="constants",
        use_attribute_docstrings=True,
    )


class KeptModel(WireModel):
    """Frozen; unknown fields are kept and written again. For what a log may hold."""

    model_config = ConfigDict(extra="allow")


class Unknown(WireModel):
    """A member of an open union that this version does not know.

    `raw` is the whole object as it came. Clients show its text fallback.
    """

    tag: str
    raw: dict[str, Any]

    @model_validator(mode="before")
    @classmethod
    def wrap_raw(cls, value: Any) -> Any:  # noqa: ANN401 - any JSON value may arrive
        if isinstance(value, dict) and set(value) != {"tag", "raw"}:
            return {"tag": str(value.get("kind", value.get("type", ""))), "raw": value}
        return value

    @model_serializer(mode="wrap")
    def unwrap_raw(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        del handler
        return dict(self.raw)


UNKNOWN = "unknown"


def tag_reader(field: str, known: frozenset[str]) -> Callable[[Any], str]:
    """Return a discriminator that sends every tag outside `known` to `Unknown`."""

    def read(value: Any) -> str:  # noqa: ANN401
        if isinstance(value, Unknown):
            return UNKNOWN
        tag = value.get(field) if isinstance(value, dict) else getattr(value, field, None)
        return tag if isinstance(tag, str) and tag in known else UNKNOWN

    return read


def open_union(field: str, *members: type[BaseModel]) -> Any:  # noqa: ANN401
    """Build `Annotated[A | B | Unknown, …]`, told apart by the literal default of `field`.

    mypy cannot see through a call, so users declare the alias under `TYPE_CHECKING` as a plain
    union and build it with this function at run time.
    """
    tags = {member.model_fields[field].default: member for member in members}
    union: Any = Annotated[Unknown, Tag(UNKNOWN)]
    for tag, member in tags.items():
        union = union | Annotated[member, Tag(tag)]
    return Annotated[union, Discriminator(tag_reader(field, frozenset(tags)))]
