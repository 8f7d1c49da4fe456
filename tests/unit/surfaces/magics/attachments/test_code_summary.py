"""Functions and classes are described without being called or looked up in."""

from __future__ import annotations

import functools
import sys
from collections import namedtuple
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
from pydantic import BaseModel

from shard_jupyter.surfaces.magics.attachments.variable_summary import summarize_variable

pytestmark = pytest.mark.proves("D02")


def text_of(value: object) -> str:
    return summarize_variable("x", value).text


def example(a, /, b: "int" = 1, *args: int, c, d="x", **more: str) -> int:  # type: ignore[no-untyped-def,valid-type] # noqa: UP037
    """
    First line.

    More.
    """
    raise AssertionError


async def waits(*, only: int = 0) -> None:
    raise AssertionError


class Point(NamedTuple):
    x: int
    y: int


Pair = namedtuple("Pair", "left right")


@dataclass
class Base:
    """A base."""

    size: int


@dataclass
class Row(Base):
    name: str = "x"


class Model(BaseModel):
    title: str
    price: float = 1.0


class Annotated:
    kind: str
    other: list[int]


def test_a_function_shows_its_signature_and_first_line() -> None:
    assert (
        text_of(example) == 'def example(a, /, b=1, *args, c, d=\'x\', **more)\n"""First line."""'
    )
    assert text_of(waits) == "async def waits(*, only=0)"
    assert "<lambda>(a)" in text_of(lambda a: a)
    assert text_of(len) == "built-in function len"
    assert text_of(sys) == "module sys"
    assert text_of(functools.partial(example)).startswith("only the type is given")


def test_a_method_shows_the_function_behind_it() -> None:
    class Holder:
        def go(self, a: int) -> None: ...

    assert text_of(Holder().go).endswith("go(self, a)")


@pytest.mark.parametrize(
    ("value", "fields"),
    [
        (Row, ["size: int", "name: str"]),
        (Model, ["title: str", "price: float"]),
        (Point, ["x", "y"]),
        (Pair, ["left", "right"]),
        (Annotated, ["kind: str", "other: list[int]"]),
        (int, []),
    ],
)
def test_a_class_shows_its_fields(value: type, fields: list[str]) -> None:
    lines = text_of(value).split("\n")
    assert lines[0].startswith("class ")
    assert [line.removeprefix("field ") for line in lines if line.startswith("field ")] == fields


class Hostile:
    def __repr__(self) -> Any:
        raise AssertionError("code of a default ran")

    __str__ = __len__ = __bool__ = __repr__  # type: ignore[assignment]


def test_a_default_or_doc_of_a_foreign_class_is_not_asked() -> None:
    def made(a: object = Hostile()) -> None: ...

    made.__doc__ = Hostile()  # type: ignore[assignment]
    assert "made(a=<" in text_of(made)


def test_many_fields_are_bounded() -> None:
    wide = type("Wide", (), {"__annotations__": {f"f{number}": int for number in range(200)}})
    assert text_of(wide).endswith("… 140 more fields")
