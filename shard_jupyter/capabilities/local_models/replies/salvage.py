"""A call that a model wrote as text, because its template's parser did not take it. Pure.

Only text that is a call and nothing else counts: an answer that shows a call is not one. What is
recovered is marked, and no rule allows it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from shard_jupyter.capabilities.local_models.replies.call_check import (
    CheckedCall,
    check_call,
    read_object,
)
from shard_jupyter.contracts.tool import ToolSpec

MOST_CHARS = 65_536
_WRAPPED = (
    re.compile(r"<tool_call>(.*)</tool_call>", re.DOTALL),
    re.compile(r"<tool_call>(.*)", re.DOTALL),
    re.compile(r"```(?:json)?[ \t]*\n(.*)\n?```", re.DOTALL),
)
_STARTS = ("{", "<tool_call>", "```json", "```\n")
_NAMES = ("name", "tool")
_ARGUMENTS = ("arguments", "args", "parameters")


def may_be_call(text: str) -> bool:
    """Whether text that began like this could become a call. Hold it back as long as it could."""
    start = text.lstrip()
    if len(text) > MOST_CHARS:
        return False
    return not start or any(mark.startswith(start) or start.startswith(mark) for mark in _STARTS)


def recover_call(text: str, tools: Sequence[ToolSpec]) -> CheckedCall | None:
    """Return the call that `text` is, None when it is anything else or was shown already."""
    if len(text) > MOST_CHARS:
        return None
    inner = text.strip()
    for wrapped in _WRAPPED:
        if found := wrapped.fullmatch(inner):
            inner = found[1]
            break
    value = read_object(inner)
    if value is None or len(value) != 2:
        return None
    names = [key for key in _NAMES if key in value]
    keys = [key for key in _ARGUMENTS if key in value]
    if len(names) != 1 or len(keys) != 1:
        return None
    arguments = value[keys[0]]
    if isinstance(arguments, str):  # some models encode the object twice
        arguments = read_object(arguments)
    call = check_call(value[names[0]], arguments, tools)
    return call if isinstance(call, CheckedCall) else None
