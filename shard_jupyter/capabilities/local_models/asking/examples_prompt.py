"""The raw text that a small model goes on with: examples, then the request. Pure.

A chat template is not used: models this small follow lines better than roles.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from shard_jupyter.capabilities.local_models.asking.examples import AFTER_RESULT, FIRST, Shown
from shard_jupyter.capabilities.local_models.asking.prompt_count import count_chars
from shard_jupyter.capabilities.local_models.asking.situation import Exchange, Situation, Step
from shard_jupyter.capabilities.local_models.replies.call_check import CheckedCall, check_call
from shard_jupyter.capabilities.local_models.replies.reply_reader import ANSWER
from shard_jupyter.contracts.tool import ToolSpec

RESULT_TOKENS = 250
EARLIER_TOKENS = 100
MOST_EARLIER = 2
MOST_CALL_CHARS = 600
"""A longer call of an earlier request is not told of."""
REQUEST_TOKENS = 1_000
"""A longer one is read for a minute on one core, and a model this small makes nothing of it."""
LEAST_REQUEST_TOKENS = 150
RESERVED_TOKENS = 1_700
"""For the examples, the results, what was said before, and what is written."""
_BREAK = re.compile("\\r\\n?|[\\x0b\\x0c\\x1c-\\x1e\\x85\\u2028\\u2029]")
"""What a model, too, may take for the end of a line."""
_CONTROL = re.compile("[\\x00-\\x08\\x0e-\\x1f\\x7f]|[\\ud800-\\udfff]")
_LABEL = re.compile(r"^(?=[^\w\n]{0,16}(?:Request|Call|Result)[ \t]*:)", re.MULTILINE)
_SPECIAL = re.compile(r"<(?=\|)")
"""Begins what a server takes for a token of its own, wherever it stands: `<|im_end|>`."""
_ESCAPED = re.compile("[\\x7f-\\x9f\\u2028\\u2029\\ud800-\\udfff]|<(?=\\|)")
"""The same within JSON, where they can be written otherwise."""
_CUT = " […]"


@dataclass(frozen=True)
class Prompt:
    """`is_cut`: the request is longer than what the model gets of it."""

    text: str
    is_cut: bool


def build_prompt(situation: Situation, tools: Sequence[ToolSpec], context_tokens: int) -> Prompt:
    """Build it for the next call, or for the words after the last result."""
    current = situation.current
    room = max(LEAST_REQUEST_TOKENS, min(context_tokens - RESERVED_TOKENS, REQUEST_TOKENS))
    request = _bound(current.request, room)
    lines = list(_write_examples(AFTER_RESULT if current.steps else FIRST, tools))
    if not current.steps:
        lines += _write_earlier(situation.earlier, tools)
    lines.append(f"Request: {request}\n")
    lines += (_write_step(step) for step in current.steps)
    return Prompt("".join(lines) + "Call: ", is_cut=request.endswith(_CUT))


def _write_examples(examples: Sequence[Shown], tools: Sequence[ToolSpec]) -> Iterator[str]:
    """Leave out the examples of tools that are not offered, or not in this form."""
    for request, calls in examples:
        if not all(
            call.tool == ANSWER
            or isinstance(check_call(call.tool, dict(call.arguments), tools), CheckedCall)
            for call in calls
        ):
            continue
        yield f"Request: {request}\n"
        for call in calls:
            yield _write_call(call.tool, call.arguments)
            if call.result:
                yield f"Result: {call.result}\n"
        yield "\n"


def _write_earlier(earlier: Sequence[Exchange], tools: Sequence[ToolSpec]) -> Iterator[str]:
    """Tell of the last requests, each with the first thing that was done about it."""
    for exchange in earlier[-MOST_EARLIER:]:
        first = next(iter(exchange.steps), None)
        if first is not None:
            call = check_call(first.name, first.arguments, tools)
            if not isinstance(call, CheckedCall):
                continue
            done = _write_call(call.name, call.arguments)
        elif exchange.said:
            done = _write_call(ANSWER, {"text": _bound(exchange.said, EARLIER_TOKENS)})
        else:
            continue
        if len(done) <= MOST_CALL_CHARS:
            yield f"Request: {_bound(exchange.request, EARLIER_TOKENS)}\n{done}\n"


def _write_step(step: Step) -> str:
    return f"{_write_call(step.name, step.arguments)}Result: {_bound(step.result, RESULT_TOKENS)}\n"


def _write_call(tool: str, arguments: dict[str, Any]) -> str:
    call = {"tool": tool, "args": arguments}
    text = json.dumps(call, ensure_ascii=False)
    return f"Call: {_ESCAPED.sub(_escape, text)}\n"


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def _bound(text: str, tokens: int) -> str:
    """Cut it, and let nothing in it pass for a line or a token of ours."""
    text = text.strip()
    length = count_chars(text, tokens)
    kept = _CONTROL.sub("\ufffd", _BREAK.sub("\n", text[:length].rstrip()))
    kept = _SPECIAL.sub("< ", _LABEL.sub("> ", kept))
    return kept if length == len(text) else kept + _CUT
