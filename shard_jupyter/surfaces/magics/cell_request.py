"""All that a `%%shard` cell asks for, checked before anything starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from shard_jupyter.errors import UsageError
from shard_jupyter.surfaces.magics.cell_options import (
    CellOptions,
    parse_cell_options,
    place_options,
)
from shard_jupyter.surfaces.magics.prompt_text import PreparedPrompt, prepare_prompt

if TYPE_CHECKING:
    from shard_jupyter.surfaces.magics.answer_schema import AnswerSchema


@dataclass(frozen=True)
class CellRequest:
    options: CellOptions
    prompt: PreparedPrompt
    schema: AnswerSchema | None


def read_cell_request(
    line: str, body: str, namespace: Mapping[str, object], *, folder: str
) -> CellRequest | None:
    """Check everything that can be checked without an agent; None if only help is wanted.

    Reads the files that the prompt names. Paths in options are seen from `folder`.

    Raises:
        UsageError: says what to mend.
    """
    options = parse_cell_options(line)
    if options.wants_help:
        return None
    return CellRequest(
        options=place_options(options, folder),
        prompt=prepare_prompt(body, namespace, _working_folder()),
        schema=_find_schema(options.schema, namespace),
    )


def _find_schema(name: str | None, namespace: Mapping[str, object]) -> AnswerSchema | None:
    if name is None:
        return None
    from shard_jupyter.surfaces.magics.answer_schema import (  # noqa: PLC0415 - only then needed
        AnswerSchema,
    )

    return AnswerSchema.find_schema(namespace, name)


def _working_folder() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise UsageError(
            "The current folder does not exist any more.", next_step="Go to one with %cd."
        ) from None
