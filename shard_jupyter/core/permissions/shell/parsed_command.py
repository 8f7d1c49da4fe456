"""A shell command that was understood whole: plain data, no text of the shell left in it.

Only words whose value the text alone tells are in here. What has expansion, assignment, a loop, a
function or anything else of a language in it is `NotUnderstood`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Piece:
    """A run of characters of one word. Unquoted `*`, `?` and `[` are glob signs."""

    text: str
    is_quoted: bool


@dataclass(frozen=True)
class Word:
    pieces: tuple[Piece, ...]

    @property
    def text(self) -> str:
        """The word with its quotes taken off; of a glob, the pattern as it was written."""
        return "".join(piece.text for piece in self.pieces)

    @property
    def is_glob(self) -> bool:
        return any(
            sign in piece.text for piece in self.pieces if not piece.is_quoted for sign in "*?["
        )


RedirectionOperator = Literal["<", ">", ">>", ">|", "<>", "&>", "&>>", "<&", ">&", "<<", "<<<"]


@dataclass(frozen=True)
class Redirection:
    """`target` of `<<` is the text of the here-document, of `<&` and `>&` a number or `-`."""

    operator: RedirectionOperator
    target: Word
    descriptor: int | None = None


@dataclass(frozen=True)
class SimpleCommand:
    """A program and its arguments; `words` has at least one."""

    words: tuple[Word, ...]
    redirections: tuple[Redirection, ...] = ()


@dataclass(frozen=True)
class Group:
    """`( … )` in a shell of its own, or `{ …; }`."""

    body: CommandList
    is_subshell: bool
    redirections: tuple[Redirection, ...] = ()


@dataclass(frozen=True)
class Pipeline:
    stages: tuple[SimpleCommand | Group, ...]
    is_negated: bool = False


Connector = Literal["", ";", "&&", "||"]
"""What stands before a pipeline; empty before the first. A newline is `;`."""


@dataclass(frozen=True)
class CommandList:
    items: tuple[tuple[Connector, Pipeline], ...]


@dataclass(frozen=True)
class NotUnderstood:
    """`reason` completes "it was not understood: …", for a person."""

    reason: str


def simple_commands(commands: CommandList) -> Iterator[SimpleCommand]:
    """Yield every simple command, those in groups as well, in the order of the text."""
    for _, pipeline in commands.items:
        for stage in pipeline.stages:
            if isinstance(stage, Group):
                yield from simple_commands(stage.body)
            else:
                yield stage


def all_redirections(commands: CommandList) -> Iterator[Redirection]:
    """Yield every redirection, those of groups as well."""
    for _, pipeline in commands.items:
        for stage in pipeline.stages:
            yield from stage.redirections
            if isinstance(stage, Group):
                yield from all_redirections(stage.body)
