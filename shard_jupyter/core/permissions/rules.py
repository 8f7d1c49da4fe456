"""Does a rule match a call? Pure.

The answer leans to the safe side, and which side that is depends on the effect: an allow rule
matches only what was understood whole and is meant by its letter; a deny or ask rule matches
whatever might be meant. It still sees no more than the text: what a script does, or code of another
language, is for a sandbox to stop.
"""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache

from shard_jupyter.core.permissions.shell_reach import may_run
from shard_jupyter.core.permissions.shell_words import parts_of, read_plain_words, read_segments
from shard_jupyter.types.decisions import CommandPattern, Rule


@dataclass(frozen=True)
class PathNames:
    """All names of one path.

    Attributes:
        real: absolute, every link followed. Rules that allow look at this one alone.
        inside: `real` relative to the workspace; None where it lies outside.
        spelled: as it was given, which only rules that deny or ask look at.
    """

    real: str
    inside: str | None = None
    spelled: tuple[str, ...] = ()


@dataclass(frozen=True)
class Subject:
    """A call, reduced to what rules speak of.

    Attributes:
        paths: every path that the call reaches.
        command: the text that a shell would get, in the folder `cwd`.
    """

    tool: str
    paths: tuple[PathNames, ...] = ()
    command: str | None = None
    cwd: str = "/"


def matches(rule: Rule, subject: Subject) -> bool:
    """Say whether `rule` speaks of `subject`. A part that is not given matches everything."""
    if not fnmatchcase(subject.tool, rule.tool):
        return False
    certain = rule.effect == "allow"
    if rule.command is not None and not _matches_command(rule.command, subject, certain=certain):
        return False
    return rule.path is None or _matches_path(rule.path, subject, certain=certain)


def _matches_command(pattern: CommandPattern, subject: Subject, *, certain: bool) -> bool:
    if subject.command is None:
        return False
    if certain:
        words = read_plain_words(subject.command)
        return words is not None and _means(pattern, words)
    return may_run(pattern, subject.command)


def _means(pattern: CommandPattern, words: Sequence[str]) -> bool:
    """Match word by word; a last `**` takes any rest."""
    program, *arguments = words
    if not _means_word(pattern.program, program) or ("/" in program) != ("/" in pattern.program):
        return False
    if pattern.args is None:
        return True
    wanted = pattern.args
    if wanted and wanted[-1] == "**":
        wanted = wanted[:-1]
        arguments = arguments[: len(wanted)]
    return len(arguments) == len(wanted) and all(map(_means_word, wanted, arguments))


def _means_word(glob: str, word: str) -> bool:
    """A glob with a slash speaks of a path: it does not cross parts, or go up and elsewhere."""
    if "/" not in glob:
        return fnmatchcase(word, glob)
    return ".." not in word.split("/") and translate_path_glob(glob).match(word) is not None


def _matches_path(glob: str, subject: Subject, *, certain: bool) -> bool:
    if certain:
        # Of a command nobody knows which of its words are paths.
        known = bool(subject.paths) and subject.command is None
        return known and all(_means_path(glob, names) for names in subject.paths)
    return any(_may_mean_path(glob, name) for name in _all_names(subject))


def _means_path(glob: str, names: PathNames) -> bool:
    name = names.real if glob.startswith("/") else names.inside
    return name is not None and translate_path_glob(glob).match(name) is not None


def _all_names(subject: Subject) -> Iterator[str]:
    for names in subject.paths:
        yield names.real
        yield from [names.inside] if names.inside is not None else []
        for given in names.spelled:
            yield from _spellings(given, subject.cwd)
    for segment in read_segments(subject.command) if subject.command is not None else ():
        for word in (*segment.words, *segment.targets):
            for part in parts_of(word):
                yield from _spellings(part, subject.cwd)


def _spellings(given: str, cwd: str) -> Iterator[str]:
    """Yield the forms in which a rule may name a path, without a look at the disk."""
    full = posixpath.normpath(posixpath.join(cwd, given))
    yield from (given, posixpath.normpath(given) if given else "", full)
    if full.startswith(f"{cwd.rstrip('/')}/"):
        yield posixpath.relpath(full, cwd)


def _may_mean_path(glob: str, name: str) -> bool:
    """Letter case and Unicode form do not count, and a folder stands for what is in it."""
    pattern = translate_path_glob(_fold(glob))
    folded = _fold(name)
    # A glob that begins with `**` means every depth, from the root on as well.
    forms = (folded, folded.lstrip("/")) if glob.startswith("**") else (folded,)
    return any(pattern.match(form) or pattern.match(f"{form}/") for form in forms)


def _fold(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()


@lru_cache(maxsize=512)
def translate_path_glob(glob: str) -> re.Pattern[str]:
    """Compile a path glob: `*` and `?` stay inside one part, `**` crosses parts.

    A pattern that names a folder with a trailing slash means all that is below it.
    """
    if glob.endswith("/"):
        glob += "**"
    out = []
    rest = glob.removeprefix("./")
    while rest:
        for sign, meaning in _GLOB_SIGNS:
            if rest.startswith(sign):
                out.append(meaning)
                rest = rest[len(sign) :]
                break
        else:
            out.append(re.escape(rest[0]))
            rest = rest[1:]
    return re.compile("".join(out) + r"\Z", re.DOTALL)


_GLOB_SIGNS = (("**/", r"(?:[^/]+/)*"), ("**", r".*"), ("*", r"[^/]*"), ("?", r"[^/]"))


def describe_rule(rule: Rule) -> str:
    """A rule in one line, for a person."""
    parts = [rule.effect, rule.tool]
    if rule.command:
        parts.append(" ".join((rule.command.program, *(rule.command.args or ("…",)))))
    if rule.path:
        parts.append(rule.path)
    line = " ".join(parts)
    return f"{line} ({rule.reason})" if rule.reason else line
