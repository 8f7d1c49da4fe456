"""The grammar allows exactly the calls that can be filled in, and is the same text each time."""

from __future__ import annotations

import pytest
from inline_snapshot import snapshot

from shard_jupyter.capabilities.local_models.asking.grammar import build_grammar
from shard_jupyter.capabilities.local_models.asking.tool_form import choose_tools, read_form
from shard_jupyter.contracts.tool import ToolSpec
from shard_jupyter.core.tools import builtin_tools

pytestmark = pytest.mark.proves("C10", "L6.2", "L6.7")
SPECS = tuple(tool.spec for tool in builtin_tools())


def tool(name: str = "t", *, required: list[str] | None = None, **fields: object) -> ToolSpec:
    names = list(fields) if required is None else required
    schema = {"type": "object", "properties": fields, "required": names}
    return ToolSpec(name=name, description="", input_schema=schema)


def roots(*tools: ToolSpec) -> str:
    return build_grammar(tools, with_answer=False).split("\n")[0]


def test_the_grammar_of_two_tools_and_an_answer() -> None:
    read = next(spec for spec in SPECS if spec.name == "read")
    bash = next(spec for spec in SPECS if spec.name == "bash")
    assert build_grammar([read, bash]) == snapshot("""\
root ::= "{\\"tool\\": \\"read\\", \\"args\\": {\\"path\\": " string "}}" | "{\\"tool\\": \\"bash\\", \\"args\\": {\\"command\\": " filled "}}" | "{\\"tool\\": \\"answer\\", \\"args\\": {\\"text\\": " filled "}}"
string ::= "\\"" char* "\\""
filled ::= "\\"" char+ "\\""
char ::= [^"\\\\\\x00-\\x1f\\x7f] | "\\\\" (["\\\\/bfnrt] | "u" [0-9a-fA-F] [0-9a-fA-F] [0-9a-fA-F] [0-9a-fA-F])
integer ::= "-"? ("0" | [1-9] [0-9]{0,14})
number ::= integer ("." [0-9]{1,12})?
boolean ::= "true" | "false"
""")


@pytest.mark.parametrize(
    ("field", "rule"),
    [
        ({"type": "string"}, "string"),
        ({"type": "string", "minLength": 1, "pattern": r"^\d+$"}, "filled"),
        ({"type": "integer", "minimum": 1}, "integer"),
        ({"type": "number"}, "number"),
        ({"type": "boolean"}, "boolean"),
        ({"const": 'say "x\\y"'}, '("\\"say \\\\\\"x\\\\\\\\y\\\\\\"\\"")'),
        ({"enum": ["a", 1, None, True]}, '("\\"a\\"" | "1" | "null" | "true")'),
    ],
)
def test_each_plain_value_has_a_rule(field: object, rule: str) -> None:
    expected = f'root ::= "{{\\"tool\\": \\"t\\", \\"args\\": {{\\"x\\": " {rule} "}}}}"'
    assert roots(tool(x=field)) == expected


@pytest.mark.parametrize(
    "field",
    [
        {"type": "array", "items": {"type": "string"}},
        {"type": "object"},
        {"$ref": "#/$defs/X"},
        {"anyOf": [{"type": "string"}, {"type": "null"}]},
        {"type": ["string", "null"]},
        {"enum": []},
        {"enum": [["a"]]},
        {},
        True,
    ],
)
def test_a_tool_that_needs_more_is_not_offered_but_may_have_it_optional(field: object) -> None:
    assert read_form(tool(x=field)) is None
    assert choose_tools([tool(x=field)]) == ()
    assert read_form(tool(required=["y"], x=field, y={"type": "string"})) is not None


def test_a_required_argument_without_a_schema_is_not_guessed() -> None:
    assert read_form(tool(required=["gone"])) is None


def test_a_tool_without_required_arguments_is_called_with_none() -> None:
    assert roots(tool("ls")) == 'root ::= "{\\"tool\\": \\"ls\\", \\"args\\": {}}"'


def test_a_name_cannot_break_out_of_its_quotes() -> None:
    assert roots(tool('a" | "b')) == (
        'root ::= "{\\"tool\\": \\"a\\\\\\" | \\\\\\"b\\", \\"args\\": {}}"'
    )


def test_the_best_known_tools_come_first_and_five_are_enough() -> None:
    chosen = [spec.name for spec in choose_tools(tuple(reversed(SPECS)))]
    assert chosen == ["read", "write", "bash", "ls", "find"]


def test_a_tool_named_answer_is_not_mixed_up_with_words() -> None:
    assert choose_tools([tool("answer")]) == ()
