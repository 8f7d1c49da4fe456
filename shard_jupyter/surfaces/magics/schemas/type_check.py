"""An answer schema that is a Python type: whatever pydantic can validate."""

from __future__ import annotations

from typing import Any

from pydantic import PydanticUserError, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from shard_jupyter.surfaces.magics.schemas.schema_problems import (
    MAX_PROBLEMS,
    Check,
    SchemaProblems,
    refuse_schema,
    tell_problem,
    tell_value,
)


def check_by_type(name: str, value: Any) -> tuple[object, Check]:  # noqa: ANN401 - what a user has
    """Return the JSON schema of a type, and a check that makes objects of it.

    Raises:
        UsageError: it is no type, or one that pydantic or JSON cannot express.
    """
    if value is None or isinstance(value, (str, int, float, list, tuple, set)):
        refuse_schema(name, f"it is a value ({type(value).__name__}), not a type")
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(value)
        schema = adapter.json_schema()
    except (PydanticUserError, NameError) as error:
        refuse_schema(name, _tell_why(error))

    def check(source: str, _: object) -> object:
        try:
            return adapter.validate_json(source, strict=True)
        except ValidationError as error:
            found = error.errors(include_url=False, include_context=False)
            raise SchemaProblems(*map(_tell, found[:MAX_PROBLEMS])) from None

    return schema, check


def _tell_why(error: Exception) -> str:
    if isinstance(error, PydanticUserError) and error.code == "typed-dict-version":
        return "before Python 3.12 a TypedDict must be that of typing_extensions"
    return f"it cannot be a schema: {_first_line(error)}"


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0].rstrip(".")


def _tell(problem: ErrorDetails) -> str:
    # Of a missing field the input is all that is around it.
    got = "" if problem["type"] == "missing" else f", not {tell_value(problem['input'])}"
    return tell_problem(problem["loc"], f"{problem['msg']}{got}")
