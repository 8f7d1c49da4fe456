"""An answer schema that is a JSON schema. Nothing that it refers to is ever fetched."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import Any
from urllib.parse import unquote

from jsonschema.exceptions import SchemaError
from jsonschema.protocols import Validator
from jsonschema.validators import Draft202012Validator, validator_for
from referencing import Registry
from referencing.exceptions import Unresolvable

from shard_jupyter.surfaces.magics.schemas.schema_problems import (
    MAX_PROBLEMS,
    MAX_SCHEMA_BYTES,
    Check,
    SchemaProblems,
    refuse_schema,
    tell_path,
    tell_problem,
)

# A schema that refers to itself without a way out recurses on values of some of these kinds.
_TRIALS: tuple[Any, ...] = (None, True, 0, "", [], [None], {}, {"": None})
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")


def check_by_json_schema(name: str, value: Mapping[str, object]) -> tuple[object, Check]:
    """Return a copy of the schema, and a check that gives back what fits as it is.

    Raises:
        UsageError: it is no JSON schema, or refers to what it does not hold. The check raises it
            too, where only an answer reaches the place.
    """
    schema = _copy_json(name, value)
    validator = _make_validator(name, schema)

    def check(_: str, found: Any) -> object:  # noqa: ANN401 - any JSON value
        with _schema_faults(name):
            errors = list(islice(validator.iter_errors(found), MAX_PROBLEMS))
            problems = [tell_problem(tuple(error.absolute_path), error.message) for error in errors]
        if problems:
            raise SchemaProblems(*problems)
        return found

    return schema, check


def _make_validator(name: str, schema: Any) -> Validator:  # noqa: ANN401 - any JSON value
    for reference in _references(schema):
        if not reference.startswith("#"):
            refuse_schema(
                name, f"it refers to {reference[:80]!r}, and nothing is fetched from elsewhere"
            )
        if reference.startswith("#/") and not _has_place(schema, reference):
            refuse_schema(name, f"it refers to {reference[:80]!r}, which is not in it")
    kind = validator_for(schema, default=Draft202012Validator)
    with _schema_faults(name):
        kind.check_schema(schema)
        # With an empty registry of its own a validator has nowhere to fetch from.
        validator = kind(schema, registry=Registry())
        for trial in _TRIALS:
            list(validator.iter_errors(trial))
    return validator


@contextmanager
def _schema_faults(name: str) -> Iterator[None]:
    try:
        yield
    except SchemaError as error:
        path = tell_path(tuple(error.absolute_path))
        refuse_schema(name, f"it is no JSON schema ({path}: {error.message[:200]})")
    except Unresolvable as error:
        refuse_schema(name, f"it refers to {str(error.ref)[:80]!r}, which is not in it")
    except RecursionError:
        refuse_schema(name, "it refers to itself without end, or is nested too deeply")


def _has_place(schema: object, reference: str) -> bool:
    """Whether a pointer leads somewhere, counted from the root as where no part has an `$id`."""
    part = schema
    for step in unquote(reference[2:]).split("/"):
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(part, dict) and key in part:
            part = part[key]
        elif isinstance(part, list) and key.isdecimal() and int(key) < len(part):
            part = part[int(key)]
        else:
            return False
    return True


def _copy_json(name: str, value: Mapping[str, object]) -> Any:  # noqa: ANN401 - any JSON value
    """A copy that is JSON, so that it means to us what it means to the model."""
    try:
        text = json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        refuse_schema(name, f"it is no JSON ({error})")
    if len(text) > MAX_SCHEMA_BYTES:
        refuse_schema(name, f"it is longer than {MAX_SCHEMA_BYTES // 1024} kB")
    return json.loads(text)


def _references(schema: object) -> Iterator[str]:
    """Yield the value of each reference; what only looks like one, in an example, too."""
    stack = [schema]
    while stack:
        part = stack.pop()
        if isinstance(part, dict):
            yield from (part[key] for key in _REFERENCES if isinstance(part.get(key), str))
            stack.extend(part.values())
        elif isinstance(part, list):
            stack.extend(part)
