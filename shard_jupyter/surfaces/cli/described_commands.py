"""The command tree as plain data, for completion scripts and the page docs/reference/cli.md.

Made from the parser, so that neither can say anything else than what is parsed.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

from shard_jupyter.surfaces.cli.exit_codes import MEANINGS

# Options whose value is a path, so that a shell can complete it.
_PATH_NAMES = {"DIR": "folder", "F": "file"}


@dataclass(frozen=True)
class DescribedArgument:
    """An option, or a positional argument when `flags` is empty.

    Attributes:
        value_name: empty for an option that takes no value.
        completes: folder, file or nothing.
        is_optional: a positional argument that may be left out.
    """

    flags: tuple[str, ...]
    value_name: str
    choices: tuple[str, ...]
    text: str
    completes: str = ""
    is_optional: bool = False


@dataclass(frozen=True)
class DescribedCommand:
    """One command. `words` are what is typed: (), ("config",), ("config", "set")."""

    words: tuple[str, ...]
    text: str
    arguments: tuple[DescribedArgument, ...]
    children: tuple[DescribedCommand, ...]

    def walk(self) -> Iterator[DescribedCommand]:
        yield self
        for child in self.children:
            yield from child.walk()


def describe_commands(
    parser: argparse.ArgumentParser, words: tuple[str, ...] = ()
) -> DescribedCommand:
    """Describe a parser and everything below it."""
    arguments: list[DescribedArgument] = []
    children: list[DescribedCommand] = []
    # argparse has no public view of what was declared.
    for action in parser._actions:  # noqa: SLF001
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for name, child in action.choices.items():
                children.append(describe_commands(child, (*words, name)))
        else:
            arguments.append(_describe_argument(action))
    return DescribedCommand(words, parser.description or "", tuple(arguments), tuple(children))


def _describe_argument(action: argparse.Action) -> DescribedArgument:
    choices = tuple(str(choice) for choice in action.choices or ())
    takes_value = action.nargs != 0
    name = str(action.metavar or action.dest) if takes_value else ""
    return DescribedArgument(
        flags=tuple(action.option_strings),
        value_name="|".join(choices) if choices else name,
        choices=choices,
        text=action.help or "",
        completes=_PATH_NAMES.get(name, ""),
        is_optional=action.nargs == "?",
    )


_ESCAPED_PIPE = "\\|"
_HEAD = """\
# Command line

<!-- Made by `python -m tests.docs_check --write` from shard_jupyter/surfaces/cli/. Do not edit. -->

`shard` and `jupyter shard` are the same program. Every list has `--json`. An error is one line on
stderr, with what to do.
"""


def write_reference(root: DescribedCommand) -> str:
    """Return the page docs/reference/cli.md."""
    codes = [_row(str(code), meaning) for code, meaning in MEANINGS.items()]
    parts = [_HEAD, _row("exit code", "meaning"), _row("---", "---"), *codes]
    for command in root.walk():
        parts += _describe_section(command)
    return "\n".join(parts) + "\n"


def _describe_section(command: DescribedCommand) -> Iterator[str]:
    usage = " ".join(("shard", *command.words))
    positionals = [
        f"[{argument.value_name}]" if argument.is_optional else argument.value_name
        for argument in command.arguments
        if not argument.flags
    ]
    options = ["[OPTIONS]"] if len(command.arguments) - len(positionals) > 1 else []
    below = ["COMMAND"] if command.children else []
    yield f"\n## `{usage}`\n\n{command.text}\n"
    yield f"```\n{' '.join((usage, *options, *positionals, *below))}\n```\n"
    yield _row("argument", "meaning")
    yield _row("---", "---")
    for argument in command.arguments:
        name = ", ".join(argument.flags) or argument.value_name
        value = f" {argument.value_name}" if argument.flags and argument.value_name else ""
        yield _row(f"`{name}{value}`", argument.text)
    for child in command.children:
        yield _row(f"`{child.words[-1]}`", child.text)


def _row(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', _ESCAPED_PIPE) for cell in cells)} |"
