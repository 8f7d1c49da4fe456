"""The grammar (GBNF) of what a small model may write. The same text for every engine. Pure.

A reply is one line, `{"tool": "read", "args": {"path": "a.txt"}}`, with the required arguments in
the order of the schema. Both engines take their grammar from llama.cpp, which does not enforce a
JSON schema that it cannot compile, but refuses a grammar that it cannot.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from shard_jupyter.capabilities.local_models.asking.tool_form import (
    ANSWER_FORM,
    FieldForm,
    ToolForm,
    read_form,
)
from shard_jupyter.contracts.tool import ToolSpec

_RULES = {
    "string": 'string ::= "\\"" char* "\\""',
    "filled": 'filled ::= "\\"" char+ "\\""',
    "char": (
        r'char ::= [^"\\\x00-\x1f\x7f] | "\\" (["\\/bfnrt] | '
        r'"u" [0-9a-fA-F] [0-9a-fA-F] [0-9a-fA-F] [0-9a-fA-F])'
    ),
    "integer": 'integer ::= "-"? ("0" | [1-9] [0-9]{0,14})',
    "number": 'number ::= integer ("." [0-9]{1,12})?',
    "boolean": 'boolean ::= "true" | "false"',
}


def build_grammar(tools: Sequence[ToolSpec], *, with_answer: bool = True) -> str:
    """Allow one call of one of `tools`, which can all be filled in, or an answer."""
    forms = [form for tool in tools if (form := read_form(tool)) is not None]
    if with_answer:
        forms.append(ANSWER_FORM)
    lines = [f"root ::= {' | '.join(_write_call(form) for form in forms)}", *_RULES.values()]
    return "\n".join(lines) + "\n"


def _write_call(form: ToolForm) -> str:
    parts: list[str] = []
    before = f'{{"tool": {_json(form.name)}, "args": {{'
    for number, field in enumerate(form.fields):
        parts += [_quote(f"{before}{', ' if number else ''}{_json(field.name)}: "), _value(field)]
        before = ""
    return " ".join([*parts, _quote(f"{before}}}}}")])


def _value(field: FieldForm) -> str:
    if field.kind == "literal":
        return f"({' | '.join(_quote(text) for text in field.literals)})"
    if field.kind == "string" and not field.may_be_empty:
        return "filled"
    return field.kind


def _json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
