"""Takes the words of a command apart by its table: options, their values, operands."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from shard_jupyter.core.permissions.shell.tables.command_table import (
    REASONS,
    CommandTable,
    Option,
    Role,
)

NUMBER_OPTION = "-#"
"""Name under which `-5` is found."""

_NUMBER = re.compile(r"[+-]?[0-9]+[A-Za-z]{0,3}")
_SMALL = re.compile(r"[0-9]{1,6}(\.[0-9]{1,3})?")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+-]*")


@dataclass
class Scan:
    """What was found up to the first thing that is not safe.

    Attributes:
        options: name and value of each, in order; the value is None where there is none.
        operands: words that are no options.
        paths: values of options that are files, given to be read.
        writes: values of options that are files which would be written.
        dashes: number of operands before `--`; None: there was no such word.
        why_not: completes "… is not safe, because"; empty: all is known and harmless.
    """

    options: list[tuple[str, str | None]] = field(default_factory=list)
    operands: list[str] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    dashes: int | None = None
    why_not: str = ""

    def has(self, names: Collection[str]) -> bool:
        return any(name in names for name, _ in self.options)

    def value_of(self, *names: str) -> str | None:
        return next((value for name, value in reversed(self.options) if name in names), None)


def scan_words(table: CommandTable, argv: Sequence[str], has_glob: frozenset[int]) -> Scan:
    """Read all words behind the program."""
    scanner = _Scanner(table, argv, has_glob)
    scanner.run()
    return scanner.scan


def fits(role: Role, word: str) -> bool:
    if role == "number":
        return _NUMBER.fullmatch(word) is not None
    if role == "small":
        return _SMALL.fullmatch(word) is not None
    if role == "name":
        return _NAME.fullmatch(word) is not None
    return True


class _Scanner:
    def __init__(self, table: CommandTable, argv: Sequence[str], has_glob: frozenset[int]) -> None:
        self._table = table
        self._argv = argv
        self._has_glob = has_glob
        self._at = self._started = 1
        self._only_operands = False
        self.scan = Scan()

    def run(self) -> None:
        while self._at < len(self._argv) and not self.scan.why_not:
            word, self._started = self._argv[self._at], self._at
            if self._table.never and word.startswith(self._table.never):
                self._refuse(f"{self._program} takes {word} for something else than a name")
            elif self._only_operands or word == "-" or not word.startswith("-"):
                self._read_operand(word)
            elif word == "--":
                self._only_operands = True
                self.scan.dashes = len(self.scan.operands)
            elif self._at in self._has_glob:
                self._refuse(f"the names of files may become options of {self._program}")
            else:
                self._read_option(word)
            self._at += 1

    @property
    def _program(self) -> str:
        return self._argv[0]

    def _refuse(self, why_not: str) -> None:
        self.scan.why_not = self.scan.why_not or why_not

    def _read_operand(self, word: str) -> None:
        if self._at in self._has_glob:
            self._check_glob(word)
        self.scan.operands.append(word)
        self._only_operands = self._only_operands or not self._table.permutes

    def _check_glob(self, word: str) -> None:
        fixed, rest = self._table.roles
        count = len(self.scan.operands) + self.scan.has(self._table.instead.split())
        policy = self._table.globs
        if policy == "never" or count < len(fixed) or rest != "path":
            self._refuse(f"what {self._program} does depends on which files {word} stands for")
        elif word[:1] in "*?[" and not (policy == "anywhere" or self.scan.dashes is not None):
            self._refuse(f"the names of files that {word} stands for may become options")

    def _read_option(self, word: str) -> None:
        if word.startswith("--") or not self._table.groups:
            self._read_long(word)
        elif self._table.numbers and word[1:].isdecimal():
            self.scan.options.append((NUMBER_OPTION, word[1:]))
        else:
            self._read_short(word)

    def _read_long(self, word: str) -> None:
        name, equals, value = word.partition("=")
        option = self._known(name)
        if option is None:
            return
        if not equals:
            self._take(name, option, self._next(option))
        elif option.arity in ("one", "glued", "next") and name.startswith("--"):
            self._take(name, option, value)
        else:
            self._refuse(f"{name} of {self._program} takes no value")

    def _read_short(self, word: str) -> None:
        for at, letter in enumerate(word[1:], 2):
            name, glued = f"-{letter}", word[at:]
            option = self._known(name)
            if option is None:
                return
            if option.arity == "none":
                self._take(name, option, None)
            elif glued and not (self._table.glues and option.arity in ("one", "glued")):
                self._refuse(f"{word} of {self._program} is not clear")
                return
            else:
                self._take(name, option, glued or self._next(option))
                return

    def _known(self, name: str) -> Option | None:
        option = self._table.known.get(name)
        if option is None:
            self._refuse(f"{name} is not known as a harmless option of {self._program}")
        return option

    def _next(self, option: Option) -> str | None:
        """Take the next word as the value of `option`, where it wants it."""
        if option.arity not in ("one", "two", "next"):
            return None
        at = self._at + (2 if option.arity == "two" else 1)
        if at >= len(self._argv):
            if option.arity != "next":
                self._refuse(f"the last option of {self._program} lacks its value")
            return None
        if option.arity == "next" and self._argv[at].startswith("-"):
            return None
        self._at = at
        return self._argv[at]

    def _take(self, name: str, option: Option, value: str | None) -> None:
        self.scan.options.append((name, value))
        if option.reason:
            if option.reason == REASONS["writes"] and value is not None:
                self.scan.writes.append(value)
            self._refuse(f"{self._program} {name} {option.reason}")
        if value is None:
            return
        if not self._has_glob.isdisjoint(range(self._started, self._at + 1)):
            self._refuse(f"names of files would become the value of {self._program} {name}")
        if option.value and not fits(option.value, value):
            self._refuse(f"{value} is not a {option.value} for {self._program} {name}")
        if option.value == "path" and not option.reason:
            self.scan.paths.append(value)
