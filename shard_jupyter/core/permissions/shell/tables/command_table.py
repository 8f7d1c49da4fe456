"""How a table says which options and operands a program has. Data, and how it is written.

A table is *closed*: an option that is not in it is not safe, nor is the abbreviation of one that
is. Options are written as in a manual page, parted by blanks:

    -n  --lines         a flag
    -n=number           an option with a value, glued or in the next word; `--lines=number` likewise
    --color[=text]      an option whose value, if any, is glued to it
    --arg==text     an option with two values, of which both are in words of their own
    --merged?text       an option that takes the next word, if there is one
    -o!writes           known and not safe, with the reason of `REASONS`
    -o=path!writes      the same; its value is a path that is written

Operands: roles in their order; the last with a `*` stands for any number. Too few do no harm.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

Role = Literal["text", "number", "small", "name", "path"]
"""What a word is: read as it stands, a number, one up to 999,999, a name that is no path, a file."""

Arity = Literal["none", "one", "two", "glued", "next"]

GlobPolicy = Literal["anywhere", "inside", "never"]
"""Where an operand may be a glob. `anywhere`: no option of the program does harm, so it does not
matter that a file's name may look like one. `inside`: not as its first character."""

REASONS: Mapping[str, str] = {
    "": "",
    "writes": "writes a file",
    "runs": "runs another program",
    "lists": "takes the names of files from a file",
    "script": "takes from a file what it does",
    "follows": "follows links, which may lead out of the workspace",
    "endless": "does not end",
    "network": "talks to the network",
    "devices": "reads devices",
    "changes": "changes the system",
    "secrets": "may show secrets",
    "elsewhere": "looks at another place",
    "submodules": "lets submodules run what they configure",
}


@dataclass(frozen=True)
class Option:
    """`value` empty: a flag. `reason` not empty: it is not safe."""

    value: Role | Literal[""] = ""
    arity: Arity = "none"
    reason: str = ""


@dataclass(frozen=True)
class CommandTable:
    """What one program may be given, in written form.

    Attributes:
        options: as above.
        operands: as above.
        instead: options that take the place of the first operand (the pattern of grep).
        numbers: `-5` is an option.
        below: options with which it reads folders to any depth, or "always".
        default: the path that it reads without an operand.
        default_below: the same, where it reads to any depth.
        globs: whether operands may be globs.
        permutes: options may come after operands.
        groups: `-ab` is `-a -b`.
        glues: a value may be glued to a short option.
        adds: arguments that are put behind the name, to make it harmless.
        tells: `--help` and `--version` tell about it, and do nothing else.
        never: how a word that means something else to this program starts, wherever it stands.
    """

    options: str = ""
    operands: str = ""
    instead: str = ""
    numbers: bool = False
    below: str = ""
    default: str = ""
    default_below: str = ""
    globs: GlobPolicy = "inside"
    permutes: bool = True
    groups: bool = True
    glues: bool = True
    adds: tuple[str, ...] = ()
    tells: bool = True
    never: str = ""

    @cached_property
    def known(self) -> Mapping[str, Option]:
        return read_options(self.options + (" --help --version" if self.tells else ""))

    @cached_property
    def roles(self) -> tuple[tuple[Role, ...], Role | None]:
        """Of the first operands, and of any number of further ones; None: there are none."""
        return read_operands(self.operands)


_OPTION = re.compile(
    r"(?P<name>--?[A-Za-z0-9@#.][\w-]*)"
    r"(?:(?P<kind>==?|\[=|\?)(?P<value>text|number|small|name|path)\]?)?"
    r"(?:!(?P<reason>[a-z]+))?"
)
_OPERAND = re.compile(r"(text|number|small|name|path)(\*?)")
_ARITIES: Mapping[str | None, Arity] = {
    None: "none",
    "=": "one",
    "==": "two",
    "[=": "glued",
    "?": "next",
}
_ROLES: Mapping[str, Role] = {role: role for role in get_args(Role)}


def names(text: str) -> frozenset[str]:
    return frozenset(text.split())


def read_options(text: str) -> dict[str, Option]:
    options: dict[str, Option] = {}
    for word in text.split():
        found = _OPTION.fullmatch(word)
        if found is None or found["name"] in options:
            raise ValueError(f"{word} is no option, or is there twice")
        options[found["name"]] = Option(
            value=_ROLES[found["value"]] if found["value"] else "",
            arity=_ARITIES[found["kind"]],
            reason=REASONS[found["reason"] or ""],
        )
    return options


def read_operands(text: str) -> tuple[tuple[Role, ...], Role | None]:
    fixed: list[Role] = []
    rest: Role | None = None
    for word in text.split():
        found = _OPERAND.fullmatch(word)
        if found is None or rest:
            raise ValueError(f"{word} is no operand, or comes after the rest")
        if found[2]:
            rest = _ROLES[found[1]]
        else:
            fixed.append(_ROLES[found[1]])
    return tuple(fixed), rest
