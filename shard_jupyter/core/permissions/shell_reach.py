"""Whether a shell command may run a program that a deny or ask rule names. Pure; says yes in doubt."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase

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


def may_run(pattern: CommandPattern, command: str, depth: int = 0) -> bool:
    easy = depth == 0 and is_easy(command)
    return depth > MAX_NESTED or any(
        _may_segment_run(pattern, segment, easy=easy, depth=depth)
        for segment in read_segments(command)
    )


def _may_segment_run(pattern: CommandPattern, segment: Segment, *, easy: bool, depth: int) -> bool:
    name = _basename(segment.program)
    if EXPANDED in name or _reads_code(name, segment):
        return True
    if easy and segment.program in NEVER_RUN_OTHERS:
        return _is_named(pattern, name, _after_program(segment))
    words = [*segment.words, *segment.targets]
    parts = [part for word in words for part in parts_of(word)]
    if any(_is_named(pattern, part, parts[at:]) for at, part in enumerate(parts, 1)):
        return True
    return name in RUN_THEIR_ARGUMENTS and any(
        EXPANDED in word or may_run(pattern, word, depth + 1) for word in _code_in(words)
    )


def _code_in(words: Iterable[str]) -> Iterator[str]:
    """Yield the words that would mean more than themselves if they were run as code."""
    return (word for word in words if EXPANDED in word or not _PLAIN >= set(word))


_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-")


def _reads_code(name: str, segment: Segment) -> bool:
    """A shell without a script takes one from its input."""
    return name in SHELLS and all(word.startswith("-") for word in _after_program(segment))


def _after_program(segment: Segment) -> Sequence[str]:
    words = segment.words
    return words[words.index(segment.program) + 1 :] if segment.program else ()


def _is_named(pattern: CommandPattern, word: str, after: Iterable[str]) -> bool:
    """The arguments in their order, whatever stands between: options may come anywhere."""
    if not fnmatchcase(_basename(word), _basename(pattern.program)):
        return False
    wanted = [glob.casefold() for glob in pattern.args or () if glob != "**"]
    for argument in after:
        if EXPANDED in argument:
            return True
        if wanted and fnmatchcase(argument.casefold(), wanted[0]):
            del wanted[0]
    return not wanted


def _basename(word: str) -> str:
    return word.rpartition("/")[2].casefold()
