"""A bounded description of a variable for the model, made without running the variable's code."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from shard_jupyter.core.text.truncation import count_noun, fit_text
from shard_jupyter.errors import UsageError
from shard_jupyter.surfaces.magics.attachments.code_summary import summarize_code
from shard_jupyter.surfaces.magics.attachments.library_summary import summarize_library
from shard_jupyter.surfaces.magics.attachments.plain_values import (
    DICTS,
    LISTS,
    SETS,
    TEXTS,
    TUPLES,
    Writer,
    is_plain,
)
from shard_jupyter.surfaces.magics.attachments.real_types import type_name
from shard_jupyter.types.redaction.secret_shapes import SECRET_SHAPES, looks_secret

MAX_VARIABLE_BYTES = 4096
_MAX_SHOWN_CHARS = 2 * MAX_VARIABLE_BYTES
_CUT_NOTE_BYTES = 40


@dataclass(frozen=True)
class VariableSummary:
    type_name: str
    text: str


def summarize_variable(
    name: str,
    value: object,
    *,
    limit_bytes: int = MAX_VARIABLE_BYTES,
    secrets: tuple[str, ...] = (),
) -> VariableSummary:
    """Describe `value` in at most `limit_bytes`. Its class decides nothing.

    Raises:
        UsageError: the name or the content says that it holds a key or a password. `secrets` are
            values that are known to be some.
    """
    _refuse_secret_name(name, value)
    writer = Writer()
    text = _describe(value, writer)
    if writer.secret:
        raise _refuse(name, f"its entry {writer.secret[:60]!r} is named like a key or a password")
    if _shapes().search(text) or any(secret in text for secret in secrets):
        raise _refuse(name, "something in it looks like a key or a token")
    valid = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return VariableSummary(
        type_name(type(value)), fit_text(valid, max(limit_bytes - _CUT_NOTE_BYTES, 0))
    )


def _describe(value: object, writer: Writer) -> str:
    if type(value) is str:
        return _describe_text(value)
    if _is_container(value):
        return f"{count_noun(len(value), 'item')}:\n{writer.write(value)}"  # type: ignore[arg-type]
    if is_plain(value):
        return writer.write(value)
    described = summarize_code(value, writer) or summarize_library(value, writer)
    return described or "only the type is given: nothing of its own code was run to see more"


def _describe_text(value: str) -> str:
    """As it is. Of a long one the middle is cut later; what is between must not be searched."""
    if len(value) <= 2 * _MAX_SHOWN_CHARS:
        return f"{len(value):,} characters:\n{value}"
    cut = len(value) - 2 * _MAX_SHOWN_CHARS
    return (
        f"{len(value):,} characters:\n{value[:_MAX_SHOWN_CHARS]}\n[… {cut:,} characters cut …]\n"
        + value[-_MAX_SHOWN_CHARS:]
    )


def _refuse_secret_name(name: str, value: object) -> None:
    """A name alone says little, such as `tokens`; with texts in the value it says enough."""
    if looks_secret(name) and _holds_text(value):
        raise _refuse(name, "it is named like a key or a password")


def _holds_text(value: object) -> bool:
    if id(type(value)) in TEXTS:
        return bool(value)
    if not _is_container(value):
        return False
    items: Any = dict.values(value) if id(type(value)) in DICTS else value  # type: ignore[arg-type]
    return any(id(type(item)) in TEXTS for item in items)


def _is_container(value: object) -> bool:
    kind = id(type(value))
    return kind in DICTS or kind in LISTS or kind in TUPLES or kind in SETS


def _refuse(name: str, why: str) -> UsageError:
    return UsageError(
        f"@{name} is not sent: {why}.",
        next_step="Attach a variable without it; if it is no secret, give it another name.",
    )


@lru_cache(maxsize=1)
def _shapes() -> re.Pattern[str]:
    return re.compile("|".join(SECRET_SHAPES), re.DOTALL)
