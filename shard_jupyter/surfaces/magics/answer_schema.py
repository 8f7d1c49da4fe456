"""What `--schema` names: how the model is told, and how its answer is read."""

from __future__ import annotations

import builtins
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn, Self

from shard_jupyter.errors import AnswerMismatch, UsageError
from shard_jupyter.surfaces.magics.schemas.schema_problems import (
    MAX_PROBLEMS,
    MAX_SCHEMA_BYTES,
    Check,
    SchemaProblems,
    refuse_schema,
)

MAX_ANSWER_CHARS = 4 << 20
_BUILT_IN = {name: value for name, value in vars(builtins).items() if isinstance(value, type)}
_FENCE = re.compile(r"[ ]{0,3}(?P<marks>`{3,}|~{3,})(?P<info>[^\n]*)")


@dataclass(frozen=True)
class AnswerSchema:
    """A schema that was checked; `text` is the JSON schema that the model gets."""

    name: str
    text: str
    check: Check

    @classmethod
    def find_schema(cls, namespace: Mapping[str, object], name: str) -> Self:
        """Look up a type, or a dict that is a JSON schema.

        Raises:
            UsageError: there is no such variable, or it is neither.
        """
        known = namespace if name in namespace else _BUILT_IN
        if name not in known:
            raise UsageError(
                f"--schema {name}: there is no variable of this name.",
                next_step="Run the cell that defines it first.",
            )
        schema, check = _make_check(name, known[name])
        text = json.dumps(schema, ensure_ascii=False, indent=2)
        if len(text.encode("utf-8", "replace")) > MAX_SCHEMA_BYTES:
            refuse_schema(name, f"its JSON schema is longer than {MAX_SCHEMA_BYTES // 1024} kB")
        return cls(name, text, check)

    def instructions(self) -> str:
        """What is put after the prompt."""
        return (
            "\n\nWhen the work is done, answer with JSON alone, without any other text, that fits "
            f"this JSON schema:\n```json\n{self.text}\n```\n"
        )

    def read(self, text: str) -> object:
        """Return the object that the answer `text` holds, as a whole or in its last fenced block.

        Raises:
            AnswerMismatch: it holds no JSON, or JSON that does not fit.
        """
        try:
            source, value = _find_json(text)
            return self.check(source, value)
        except SchemaProblems as problems:
            lines = problems.lines
        more = f" (and {len(lines) - 1} more)" if len(lines) > 1 else ""
        raise AnswerMismatch(
            f"The answer does not fit --schema {self.name}: {lines[0]}{more}",
            lines,
            next_step="Run the cell again, or say in the prompt what the answer must hold.",
        )

    def correction(self, error: AnswerMismatch) -> str:
        """The prompt that tells the model what to mend."""
        lines = "".join(f"- {problem}\n" for problem in error.problems[:MAX_PROBLEMS])
        return (
            f"Your answer does not fit the JSON schema that was asked for:\n{lines}"
            "Answer once more with the whole JSON, mended, and nothing else."
        )


def _make_check(name: str, value: object) -> tuple[object, Check]:
    if type(value) is dict:
        from shard_jupyter.surfaces.magics.schemas.json_schema_check import (  # noqa: PLC0415 - only for it
            check_by_json_schema,
        )

        return check_by_json_schema(name, value)
    from shard_jupyter.surfaces.magics.schemas.type_check import (  # noqa: PLC0415 - only for it
        check_by_type,
    )

    return check_by_type(name, value)


def _find_json(text: str) -> tuple[str, object]:
    if len(text) > MAX_ANSWER_CHARS:
        raise SchemaProblems(f"it is longer than {MAX_ANSWER_CHARS:,} characters")
    whole = text.strip().removeprefix("\ufeff")
    if not whole:
        raise SchemaProblems("it is empty")
    try:
        return whole, _load_json(whole)
    except ValueError as error:
        why = str(error)
    block = _last_block(text)
    if block is None:
        raise SchemaProblems(f"it is no JSON ({why}) and has no fenced block with JSON")
    try:
        return block, _load_json(block)
    except ValueError as error:
        raise SchemaProblems(f"its last fenced block is no JSON ({error})") from None


def _last_block(text: str) -> str | None:
    """The content of the last fenced block; one that is not closed goes to the end."""
    last: str | None = None
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        marks = _FENCE.match(line)
        if not fence:
            fence, lines = (marks["marks"], []) if marks else ("", [])
        elif marks and marks["marks"].startswith(fence) and not marks["info"].strip():
            last, fence = "\n".join(lines), ""
        else:
            lines.append(line)
    return "\n".join(lines) if fence else last


def _load_json(text: str) -> object:
    try:
        return json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_unique_keys)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {key!r} stands twice in one object")
        found[key] = value
    return found
