"""The second opinion: what the bash grammar of tree-sitter makes of a text.

Only nodes of a closed list are let through, and the tokens that it sees are compared with our own.
Where two readers cut a text differently, bash may be a third. The grammar is loaded at the first
use: it costs a few milliseconds, which a kernel that only loads the magic does not pay.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from shard_jupyter.core.permissions.shell.parsing.read_word import NotPlain, NotValid

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

PARTS_OF_COMMANDS = frozenset(
    {
        "program", "list", "pipeline", "command", "command_name", "negated_command",
        "redirected_statement", "file_redirect", "herestring_redirect", "subshell",
        "compound_statement", "test_command", "unary_expression", "binary_expression",
        "file_descriptor", "comment",
    }
)  # fmt: skip
WORDS = frozenset(
    {"word", "number", "string", "raw_string", "concatenation", "extglob_pattern", "test_operator"}
)
PARTS_OF_WORDS = WORDS | {"string_content", '"', "$"}
SIGNS = frozenset(
    {
        ";", "&&", "||", "|", "|&", "!", "{", "}", "(", ")", "[", "]", "=", "==", "!=", "-a", "-o",
        "<", ">", ">>", ">|", "&>", "&>>", "<&", ">&", "<&-", ">&-", "<<<", "$",
    }
)  # fmt: skip
REFUSED = {
    "simple_expansion": "`{text}` is only known when it runs",
    "expansion": "`{text}` is only known when it runs",
    "command_substitution": "`{text}` runs another command for its words",
    "process_substitution": "`{text}` runs another command",
    "arithmetic_expansion": "`{text}` is arithmetic, which can run commands",
    "ansi_c_string": "`{text}` hides what it stands for",
    "translated_string": "`{text}` is translated when it runs",
    "brace_expression": "`{text}` stands for several words",
    "variable_assignment": "`{text}` changes a variable",
    "variable_assignments": "`{text}` changes variables",
    "declaration_command": "`{text}` changes the state of the shell",
    "unset_command": "`{text}` changes the state of the shell",
    "function_definition": "`{text}` defines a function",
    "for_statement": "it has a loop",
    "c_style_for_statement": "it has a loop",
    "while_statement": "it has a loop",
    "if_statement": "it has a condition of the shell's language",
    "case_statement": "it has a condition of the shell's language",
    "heredoc_redirect": "the shell puts values into a here-document whose end mark is not quoted",
    "subscript": "`{text}` is evaluated when it runs",
    "&": "`&` leaves it running in the background",
    "[[": "`[[` evaluates its words",
}
NEVER_REACHED = frozenset(
    {
        "array", "case_item", "do_group", "elif_clause", "else_clause", "heredoc_body",
        "heredoc_content", "heredoc_end", "heredoc_start", "parenthesized_expression",
        "postfix_expression", "regex", "special_variable_name", "ternary_expression",
        "variable_name",
    }
)  # fmt: skip
"""What stands only below nodes that are refused, or in `[[` and arithmetic. Refused as well."""

_INVALID = "it is no valid text of the shell"


@cache
def _parser() -> Parser:
    import tree_sitter  # noqa: PLC0415  # only who judges a command pays for it
    import tree_sitter_bash  # noqa: PLC0415

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def find_spans(text: str) -> list[tuple[int, int]]:
    """Find start and end of every token in `text`, which is ASCII.

    Raises:
        NotPlain: the grammar finds an error, or a node that is not on the list.
    """
    root = _parser().parse(text.encode("ascii")).root_node
    spans: list[tuple[int, int]] = []
    waiting = [root]
    while waiting:
        node = waiting.pop()
        kind = node.type
        if kind in PARTS_OF_COMMANDS:
            if kind == "file_descriptor":
                spans.append((node.start_byte, node.end_byte))
            waiting.extend(reversed(node.children))
            continue
        if kind in WORDS:
            _check_word(node)
        elif kind not in SIGNS or node.is_missing:
            raise _error(node)
        if node.end_byte > node.start_byte:
            _add_span(spans, node)
    if root.has_error:
        raise NotValid(_INVALID)
    return spans


def _add_span(spans: list[tuple[int, int]], node: Node) -> None:
    # The grammar cuts a word before a backslash that follows a quote: 'it'\''s' is one word.
    start = node.start_byte
    if spans and spans[-1][1] == start and (node.text or b"").startswith(b"\\"):
        start = spans.pop()[0]
    spans.append((start, node.end_byte))


def _check_word(node: Node) -> None:
    for child in node.children:
        if child.type not in PARTS_OF_WORDS or child.is_missing:
            raise _error(child)
        _check_word(child)


def _error(node: Node) -> NotPlain:
    if node.is_error or node.is_missing:
        return NotValid(_INVALID)
    words = REFUSED.get(node.type, "`{text}` is not looked into")
    return NotPlain(words.format(text=_shorten((node.text or b"").decode("ascii"))))


def _shorten(text: str) -> str:
    line = text.partition("\n")[0]
    return line if line == text and len(line) <= 40 else line[:39] + "…"
