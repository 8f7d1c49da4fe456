"""Whether a shell command may run a program that a deny or ask rule names. Pure; says yes in doubt."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache

from shard_jupyter.core.permissions.known_programs import (
    NEVER_RUN_OTHERS,
    RUN_THEIR_ARGUMENTS,
    SHELLS,
)
from shard_jupyter.core.permissions.shell_words import (
    EXPANDED,
    Segment,
    is_easy,
    parts_of,
    read_segments,
)
from shard_jupyter.types.decisions import CommandPattern

MAX_NESTED = 5
"""Quotes inside quotes that are looked into. What has more, may run anything."""


@dataclass(frozen=True)
class _Heard:
    """A segment, read once for all rules.

    Attributes:
        runs_anything: what it runs cannot be told.
        parts: what a program that runs its words as code would see in them.
        names: those as programs: without their folders, in one case.
        code: the words that would mean more than themselves if they were run as code.
    """

    runs_anything: bool
    parts: Sequence[str]
    names: Sequence[str]
    code: Sequence[str]


def may_run(pattern: CommandPattern, command: str, depth: int = 0) -> bool:
    if depth > MAX_NESTED:
        return True
    program = _basename(pattern.program)
    return any(
        _may_segment_run(pattern, program, heard, depth)
        for heard in _hear(command, is_outermost=depth == 0)
    )


def _may_segment_run(pattern: CommandPattern, program: str, heard: _Heard, depth: int) -> bool:
    if heard.runs_anything:
        return True
    for at, name in enumerate(heard.names, 1):
        if fnmatchcase(name, program) and _has_arguments(pattern, heard.parts[at:]):
            return True
    return any(EXPANDED in word or may_run(pattern, word, depth + 1) for word in heard.code)


@lru_cache(maxsize=16)
def _hear(command: str, *, is_outermost: bool) -> tuple[_Heard, ...]:
    easy = is_outermost and is_easy(command)
    return tuple(_hear_segment(segment, easy=easy) for segment in read_segments(command))


def _hear_segment(segment: Segment, *, easy: bool) -> _Heard:
    program = segment.program
    name, after = _basename(program), _after_program(segment)
    if EXPANDED in name or _reads_code(name, after):
        return _Heard(True, (), (), ())
    if easy and program in NEVER_RUN_OTHERS:
        return _Heard(False, (program, *after), (name,), ())
    words = [*segment.words, *segment.targets]
    parts = [part for word in words for part in parts_of(word)]
    code = tuple(_code_in(words)) if name in RUN_THEIR_ARGUMENTS else ()
    return _Heard(False, parts, list(map(_basename, parts)), code)


def _code_in(words: Iterable[str]) -> Iterator[str]:
    return (word for word in words if EXPANDED in word or not _PLAIN >= set(word))


_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-")


def _reads_code(name: str, after: Sequence[str]) -> bool:
    """A shell without a script takes one from its input."""
    return name in SHELLS and all(word.startswith("-") for word in after)


def _after_program(segment: Segment) -> Sequence[str]:
    words, program = segment.words, segment.program
    return words[words.index(program) + 1 :] if program else ()


def _has_arguments(pattern: CommandPattern, after: Iterable[str]) -> bool:
    """The arguments in their order, whatever stands between: options may come anywhere."""
    wanted = [glob.casefold() for glob in pattern.args or () if glob != "**"]
    for argument in after:
        if EXPANDED in argument:
            return True
        if wanted and fnmatchcase(argument.casefold(), wanted[0]):
            del wanted[0]
    return not wanted


def _basename(word: str) -> str:
    return word.rpartition("/")[2].casefold()
