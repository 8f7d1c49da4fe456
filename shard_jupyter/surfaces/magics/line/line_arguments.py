"""Reads what follows `%shard`. Pure and light."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from shard_jupyter.errors import UsageError
from shard_jupyter.surfaces.magics.line.command_table import (
    HELP_HINT,
    LINE_COMMANDS,
    LineCommand,
    Option,
)


@dataclass(frozen=True)
class LineArguments:
    """What was given to one command. `options` has only those given; a flag has the value "".

    Attributes:
        argument: the word that followed, or the first of two.
        second: the other word, for a command that takes two.
    """

    command: LineCommand
    argument: str | None = None
    second: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)


def read_line(line: str) -> LineArguments:
    """Understand the line.

    Raises:
        UsageError: there is no such command or option, or a word too many; names the nearest one.
    """
    words = split_words(line)
    if words[:1] in (["--help"], ["-h"]):
        words[0] = "help"
    if not words:
        raise UsageError("%shard needs a command, such as %shard status.", next_step=HELP_HINT)
    return _read_words(find_command(words[0]), words[1:])


def split_words(line: str) -> list[str]:
    """Split as a shell does, so that a name in quotes may hold spaces.

    Raises:
        UsageError: a quote is left open.
    """
    try:
        return shlex.split(line)
    except ValueError as error:
        raise UsageError(
            f"%shard cannot read its line: {str(error)[:1].lower()}{str(error)[1:]}.",
            next_step="Close the quote, or put a backslash before it.",
        ) from None


def find_command(name: str) -> LineCommand:
    """Look a command up by its exact name.

    Raises:
        UsageError: there is none; names the nearest one.
    """
    command = LINE_COMMANDS.get(name)
    if command is None:
        if name.startswith("-"):
            raise UsageError(
                f"%shard needs a command before {name!r}.",
                next_step="Options of a prompt go to %%shard, in a cell of their own.",
            )
        hint = say_nearest(name, LINE_COMMANDS)
        raise UsageError(
            f"%shard has no command {name!r}.{hint}",
            next_step=f"{HELP_HINT} A prompt goes below %%shard, in a cell of its own.",
        )
    return command


def say_nearest(name: str, known: Iterable[str]) -> str:
    """Return " Did you mean …?", or nothing when nothing is near."""
    import difflib  # noqa: PLC0415 - only an error needs it

    near = difflib.get_close_matches(name, list(known), n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


def _read_words(command: LineCommand, words: Sequence[str]) -> LineArguments:
    arguments: list[str] = []
    options: dict[str, str] = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if not word.startswith("--"):
            arguments.append(word)
            continue
        name, equals, value = word.partition("=")
        option = _find_option(command, name)
        if option.name in options:
            raise _refuse(command, f"{option.name} is given twice.")
        options[option.name] = _read_value(command, option, value if equals else None, rest)
    if len(arguments) > len(command.argument.split()):
        raise _refuse(command, f"%shard {command.name} does not know what {arguments[-1]!r} is.")
    first, second = (*arguments, None, None)[:2]
    return LineArguments(command, first, second, options)


def _find_option(command: LineCommand, name: str) -> Option:
    known = {option.name: option for option in command.options}
    if name not in known:
        hint = say_nearest(name, known)
        raise _refuse(command, f"%shard {command.name} has no option {name!r}.{hint}")
    return known[name]


def _read_value(command: LineCommand, option: Option, given: str | None, rest: list[str]) -> str:
    if not option.value:
        if given is not None:
            raise _refuse(command, f"{option.name} takes no value.")
        return ""
    value = given if given is not None else (rest.pop(0) if rest else "")
    if not value or value.startswith("-"):
        raise _refuse(command, f"{option.name} needs a value: {option.name} {option.value}.")
    return value


def _refuse(command: LineCommand, message: str) -> UsageError:
    return UsageError(message, next_step=f"`%shard help {command.name}` explains it.")
