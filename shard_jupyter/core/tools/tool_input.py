"""Makes a Tool out of a pydantic model of its arguments."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from difflib import get_close_matches
from functools import cache
from typing import Any, ClassVar, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from shard_jupyter.contracts.tool import Arguments, Reach, ToolSpec
from shard_jupyter.contracts.tool_context import ToolContext
from shard_jupyter.errors import ModelVisibleError, ToolInputError
from shard_jupyter.types.render_descriptors import RenderDescriptor, StatusDescriptor
from shard_jupyter.types.tool_results import ToolResult


class ToolInput(BaseModel):
    """Arguments of one tool. Numbers and booleans are also taken as text, as models send them."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


_SURROGATE = re.compile("[\ud800-\udfff]")

Input = TypeVar("Input", bound=ToolInput)


class InputTool(ABC, Generic[Input]):
    """A tool whose call is a `ToolInput`. Subclasses name themselves and say what a call does."""

    name: ClassVar[str]
    description: ClassVar[str]
    read_only: ClassVar[bool] = False
    input_model: type[Input]

    @property
    def spec(self) -> ToolSpec:
        return _spec_of(type(self))

    @property
    def is_read_only(self) -> bool:
        return self.read_only

    def parse(self, arguments: Arguments) -> Arguments:
        call = self._call_of({k: v for k, v in arguments.items() if v is not None})
        return call.model_dump(exclude_defaults=True)

    def reach(self, arguments: Arguments) -> Reach:
        return self.reach_of(self._call_of(arguments))

    async def preview(
        self, arguments: Arguments, context: ToolContext
    ) -> tuple[RenderDescriptor, ...]:
        try:
            return await self.show(self._call_of(arguments), context)
        except ModelVisibleError as error:
            return (StatusDescriptor(label=error.message, tone="warn"),)

    async def execute(self, arguments: Arguments, context: ToolContext) -> ToolResult:
        return await self.run(self._call_of(arguments), context)

    @abstractmethod
    def reach_of(self, call: Input) -> Reach:
        """As `Tool.reach`; pure."""

    @abstractmethod
    async def show(self, call: Input, context: ToolContext) -> tuple[RenderDescriptor, ...]:
        """As `Tool.preview`, but may raise `ModelVisibleError`, which becomes a status line."""

    @abstractmethod
    async def run(self, call: Input, context: ToolContext) -> ToolResult:
        """As `Tool.execute`."""

    def _call_of(self, arguments: Arguments) -> Input:
        for name, value in arguments.items():
            if isinstance(value, str) and _SURROGATE.search(value):
                raise ToolInputError(
                    f"{self.name}: {name!r} holds half of a surrogate pair, which is no text."
                )
        try:
            return self.input_model.model_validate(dict(arguments))
        except ValidationError as error:
            raise ToolInputError(_explain(self.name, self.input_model, error)) from error


@cache
def _spec_of(tool: type[InputTool[Any]]) -> ToolSpec:
    schema = tool.input_model.model_json_schema()
    return ToolSpec(
        name=tool.name, description=tool.description, input_schema=_without_titles(schema)
    )


def _without_titles(schema: dict[str, Any]) -> dict[str, Any]:
    """Drop what costs tokens and tells a model nothing. Unknown arguments are refused anyway."""
    properties = {
        name: {
            key: value
            for key, value in field.items()
            if key != "title" and not (key == "default" and not value)
        }
        for name, field in schema["properties"].items()
    }
    slim: dict[str, Any] = {"type": "object", "properties": properties}
    if "required" in schema:
        slim["required"] = schema["required"]
    return slim


def _explain(tool: str, model: type[ToolInput], error: ValidationError) -> str:
    found = [_explain_one(tuple(model.model_fields), detail) for detail in error.errors()]
    wanted = ", ".join(
        name if field.is_required() else f"{name} (optional)"
        for name, field in model.model_fields.items()
    )
    return f"{tool}: {' '.join(found)} It takes: {wanted}."


def _explain_one(names: tuple[str, ...], detail: ErrorDetails) -> str:
    name = ".".join(str(part) for part in detail["loc"]) or "the arguments"
    if detail["type"] == "extra_forbidden":
        near = get_close_matches(name, names, n=1)
        return f"There is no argument {name!r}" + (f"; perhaps {near[0]!r}." if near else ".")
    if detail["type"] == "missing":
        return f"{name!r} is missing."
    if detail["type"] == "value_error":
        return f"{name!r}: {detail['ctx']['error']}"
    return f"{name!r}: {detail['msg'][:1].lower()}{detail['msg'][1:]}, not {_brief(detail)}."


def _brief(detail: ErrorDetails) -> str:
    text = repr(detail["input"])
    return text if len(text) <= 80 else f"{text[:80]}…"
