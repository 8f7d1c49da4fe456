"""A command written anew from what was understood, so that nothing else can run.

Quoting is by the standard library alone (T69). Globs stay globs here; `replace_words` puts other
words in their place first, where they must not.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace

from shard_jupyter.core.permissions.shell.parsed_command import (
    CommandList,
    Group,
    Piece,
    Pipeline,
    Redirection,
    SimpleCommand,
    Word,
)

_GLOB_RUN = re.compile(r"([A-Za-z0-9_@%+=:,./*?\[\]!^-]+)")
_BETWEEN = {"": "", ";": "; ", "&&": " && ", "||": " || "}


def write_canonical(commands: CommandList) -> str:
    """Write `commands` on one line, the lines of its here-documents below."""
    bodies: list[str] = []
    line = _write_list(commands, bodies)
    return "\n".join((line, *bodies))


def write_word(word: Word) -> str:
    """Quote `word` so that bash reads the same characters, and the same glob signs."""
    if not word.is_glob:
        return shlex.quote(word.text)
    return "".join(_write_piece(piece) for piece in word.pieces if piece.text)


def literal_word(text: str) -> Word:
    return Word((Piece(text, is_quoted=True),))


def replace_words(
    commands: CommandList, new_words: Callable[[SimpleCommand], Sequence[str]]
) -> CommandList:
    """Put literal words in the place of those of every simple command, in the order of the text."""
    return CommandList(
        tuple(
            (connector, replace(line, stages=tuple(_replace(s, new_words) for s in line.stages)))
            for connector, line in commands.items
        )
    )


def _replace(
    stage: SimpleCommand | Group, new_words: Callable[[SimpleCommand], Sequence[str]]
) -> SimpleCommand | Group:
    if isinstance(stage, Group):
        return replace(stage, body=replace_words(stage.body, new_words))
    return replace(stage, words=tuple(literal_word(text) for text in new_words(stage)))


def _write_list(commands: CommandList, bodies: list[str]) -> str:
    return "".join(
        _BETWEEN[connector] + _write_pipeline(line, bodies) for connector, line in commands.items
    )


def _write_pipeline(pipeline: Pipeline, bodies: list[str]) -> str:
    stages = " | ".join(_write_stage(stage, bodies) for stage in pipeline.stages)
    return f"! {stages}" if pipeline.is_negated else stages


def _write_stage(stage: SimpleCommand | Group, bodies: list[str]) -> str:
    if isinstance(stage, Group):
        body = _write_list(stage.body, bodies)
        parts = [f"( {body} )" if stage.is_subshell else f"{{ {body}; }}"]
    else:
        parts = [write_word(word) for word in stage.words]
    parts += [_write_redirection(redirection, bodies) for redirection in stage.redirections]
    return " ".join(parts)


def _write_redirection(redirection: Redirection, bodies: list[str]) -> str:
    descriptor = "" if redirection.descriptor is None else str(redirection.descriptor)
    text = redirection.target.text
    if redirection.operator != "<<":
        space = " " if redirection.operator == "<<<" else ""
        return f"{descriptor}{redirection.operator}{space}{shlex.quote(text)}"
    mark = _free_mark(text)
    bodies.append(f"{text}{mark}")
    return f"{descriptor}<<'{mark}'"


def _free_mark(body: str) -> str:
    """Find an end mark that is no line of `body`."""
    lines = set(body.split("\n"))
    return next(mark for n in range(len(lines) + 1) if (mark := f"EOF{n or ''}") not in lines)


def _write_piece(piece: Piece) -> str:
    if piece.is_quoted:
        return shlex.quote(piece.text)
    runs = _GLOB_RUN.split(piece.text)
    return "".join(run if n % 2 else shlex.quote(run) for n, run in enumerate(runs) if run)
