"""Tokens to commands, by the grammar of bash for plain commands.

list     = pipeline { ("&&" | "||") lines pipeline | (";" | line) lines pipeline }
pipeline = ["!"] stage { ("|" | "|&") lines stage }
stage    = "(" list ")" redirections | "{" list "}" redirections | words redirections
"""

from __future__ import annotations

from typing import Literal, cast

from shard_jupyter.core.permissions.shell.parsed_command import (
    CommandList,
    Connector,
    Group,
    Piece,
    Pipeline,
    Redirection,
    RedirectionOperator,
    SimpleCommand,
    Word,
)
from shard_jupyter.core.permissions.shell.parsing.here_documents import find_body
from shard_jupyter.core.permissions.shell.parsing.read_word import NotPlain, read_word
from shard_jupyter.core.permissions.shell.parsing.tokens import Token

MAX_COMMANDS = 50
MAX_DEPTH = 10
RESERVED = frozenset(
    {
        "!", "{", "}", "[[", "]]", "case", "coproc", "do", "done", "elif", "else", "esac", "fi",
        "for", "function", "if", "in", "select", "then", "time", "until", "while",
    }
)  # fmt: skip
_REDIRECTIONS = frozenset({"<", ">", ">>", ">|", "<>", "&>", "&>>", "<&", ">&", "<<<"})
_CLOSINGS = {">&-": ">&", "<&-": "<&"}
_STANDARD_OUTPUT = "1"
_ERRORS_TOO = Redirection(">&", Word((Piece(_STANDARD_OUTPUT, is_quoted=False),)), 2)


class CommandReader:
    """Reads one text; use it once."""

    def __init__(self, tokens: list[Token], bodies: tuple[str, ...]) -> None:
        self._tokens = tokens
        self._bodies = bodies
        self._at = 0
        self._commands = 0
        self._depth = 0

    def read(self) -> CommandList:
        """Read all of it.

        Raises:
            NotPlain: it is no list of plain commands, or has too many.
        """
        commands = self._read_list("")
        if self._at < len(self._tokens):
            raise NotPlain(f"`{self._tokens[self._at].raw}` stands where it has no meaning")
        return commands

    def _read_list(self, closing: Literal["", ")", "}"]) -> CommandList:
        items: list[tuple[Connector, Pipeline]] = []
        connector: Connector = ""
        self._skip_lines()
        while True:
            items.append((connector, self._read_pipeline()))
            operator = self._peek()
            if operator in ("&&", "||"):
                self._at += 1
                self._skip_lines()
                connector = cast("Connector", operator)
                continue
            is_ended = operator in (";", "\n")
            if is_ended:
                self._at += 1
                self._skip_lines()
            if self._peek() in ("", ")") or (is_ended and self._peek() == closing):
                return CommandList(tuple(items))
            if not is_ended:
                raise NotPlain(f"`{operator}` stands where it has no meaning")
            connector = ";"

    def _read_pipeline(self) -> Pipeline:
        is_negated = self._take("!")
        stages = [self._read_stage()]
        while self._peek() in ("|", "|&"):
            if self._peek() == "|&":
                stages[-1] = _with_errors(stages[-1])
            self._at += 1
            self._skip_lines()
            stages.append(self._read_stage())
        return Pipeline(tuple(stages), is_negated)

    def _read_stage(self) -> SimpleCommand | Group:
        opening = self._peek()
        if opening not in ("(", "{"):
            return self._read_simple()
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise NotPlain(f"it is nested more than {MAX_DEPTH} deep")
        self._at += 1
        closing: Literal[")", "}"] = ")" if opening == "(" else "}"
        body = self._read_list(closing)
        if not self._take(closing):
            raise NotPlain(f"`{opening}` is not closed")
        self._depth -= 1
        return Group(body, opening == "(", self._read_redirections())

    def _read_simple(self) -> SimpleCommand:
        self._commands += 1
        if self._commands > MAX_COMMANDS:
            raise NotPlain(f"it has more than {MAX_COMMANDS} commands")
        words: list[Word] = []
        while self._at < len(self._tokens) and self._tokens[self._at].kind == "word":
            raw = self._tokens[self._at].raw
            words.append(read_word(raw) if words else _read_program(raw))
            self._at += 1
        if not words:
            raise NotPlain("a command in it is missing, or stands after a redirection")
        return SimpleCommand(tuple(words), self._read_redirections())

    def _read_redirections(self) -> tuple[Redirection, ...]:
        found: list[Redirection] = []
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            if token.kind == "word":
                raise NotPlain("words stand after a redirection")
            descriptor = _read_descriptor(token.raw) if token.kind == "number" else None
            self._at += token.kind == "number"
            operator = self._peek()
            if operator not in _REDIRECTIONS and operator not in _CLOSINGS:
                break
            self._at += 1
            found.append(self._read_redirection(operator, descriptor))
        return tuple(found)

    def _read_redirection(self, operator: str, descriptor: int | None) -> Redirection:
        if operator in _CLOSINGS:
            closed = cast("RedirectionOperator", _CLOSINGS[operator])
            return Redirection(closed, Word((Piece("-", is_quoted=False),)), descriptor)
        if self._at >= len(self._tokens) or self._tokens[self._at].kind != "word":
            raise NotPlain("a redirection in it leads nowhere")
        raw = self._tokens[self._at].raw
        self._at += 1
        body = find_body(raw, self._bodies) if operator == "<<<" else None
        if body is not None:
            return Redirection("<<", Word((Piece(body, is_quoted=True),)), descriptor)
        target = read_word(raw)
        if operator == "<<<":
            return Redirection("<<<", target, descriptor)
        if target.is_glob or not target.text:
            raise NotPlain(f"where `{operator}{raw}` leads is only known when it runs")
        if operator in ("<&", ">&"):
            return _read_copy(operator, target, descriptor)
        return Redirection(cast("RedirectionOperator", operator), target, descriptor)

    def _skip_lines(self) -> None:
        while self._peek() == "\n":
            self._at += 1

    def _take(self, raw: str) -> bool:
        is_there = self._peek() == raw
        self._at += is_there
        return is_there

    def _peek(self) -> str:
        return self._tokens[self._at].raw if self._at < len(self._tokens) else ""


def _read_program(raw: str) -> Word:
    word = read_word(raw)
    if word.text in RESERVED:
        raise NotPlain(f"`{word.text}` is a word of the shell's language")
    if word.is_glob:
        raise NotPlain(f"which program `{raw}` is, is only known when it runs")
    if not word.text or "=" in word.text:
        raise NotPlain(f"`{raw}` is no name of a program")
    return word


def _read_descriptor(raw: str) -> int:
    if len(raw) > 1:
        raise NotPlain(f"`{raw}` is no usual descriptor")
    return int(raw)


def _read_copy(operator: str, target: Word, descriptor: int | None) -> Redirection:
    """`>&2` copies a descriptor, `>&name` is an old way to write both streams to a file."""
    if len(target.text) == 1 and target.text in "0123456789-":
        return Redirection(cast("RedirectionOperator", operator), target, descriptor)
    if operator == ">&" and descriptor is None and not target.text[0].isdigit():
        return Redirection("&>", target)
    raise NotPlain(f"`{operator}{target.text}` is no plain redirection")


def _with_errors(stage: SimpleCommand | Group) -> SimpleCommand | Group:
    """`|&` is `2>&1 |`, after what the stage redirects itself."""
    redirections = (*stage.redirections, _ERRORS_TOO)
    if isinstance(stage, Group):
        return Group(stage.body, stage.is_subshell, redirections)
    return SimpleCommand(stage.words, redirections)
