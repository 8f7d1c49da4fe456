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

from shard_jupyter.core.permissions.shell.shell_verdict import ShellVerdict, SimpleReading
from shard_jupyter.core.permissions.shell_reach import may_run
from shard_jupyter.core.permissions.shell_words import parts_of, read_segments
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
        shell: how `command` was read; None: it was not.
        touched: what words of `command` name, where that is known; see `looks_at_words`.
    """

    tool: str
    paths: tuple[PathNames, ...] = ()
    command: str | None = None
    cwd: str = "/"
    shell: ShellVerdict | None = None
    touched: tuple[PathNames, ...] = ()


def matches(rule: Rule, subject: Subject) -> bool:
    """Say whether `rule` speaks of `subject`. A part that is not given matches everything.

    Of a chain an allow rule has to speak of every command; `find_cover` puts several together.
    """
    if not speaks_of_call(rule, subject):
        return False
    certain = rule.effect == "allow"
    if rule.command is not None and not _matches_command(rule.command, subject, certain=certain):
        return False
    return rule.path is None or _matches_path(rule.path, subject, certain=certain)


def looks_at_words(rule: Rule) -> bool:
    """Whether the rule needs `Subject.touched`."""
    return rule.effect != "allow" and rule.path is not None


def speaks_of_call(rule: Rule, subject: Subject) -> bool:
    """The tool and the workspace; nothing of what the call does."""
    if not fnmatchcase(subject.tool, rule.tool):
        return False
    return not rule.project or _is_below(subject.cwd, rule.project)


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


def _matches_command(pattern: CommandPattern, subject: Subject, *, certain: bool) -> bool:
    if subject.command is None:
        return False
    if certain:
        commands = parsed_commands(subject)
        return bool(commands) and all(means(pattern, command) for command in commands)
    return any(may_run(pattern, text) for text in _texts(subject))


def parsed_commands(subject: Subject) -> tuple[SimpleReading, ...]:
    """The simple commands that an allow rule may speak of; none where a file is written besides."""
    shell = subject.shell
    if shell is None or not shell.canonical or shell.writes:
        return ()
    if any(command.changes_files for command in shell.commands):
        return ()
    return shell.commands


def _texts(subject: Subject) -> Iterator[str]:
    """The forms of a command, as given and as it would run: a rule must miss none of them."""
    if subject.command is not None:
        yield subject.command
    if subject.shell is not None:
        shell = subject.shell
        yield from {shell.canonical, shell.confined} - {"", subject.command}


def means(pattern: CommandPattern, command: SimpleReading) -> bool:
    """Match word by word, by the letter; a last `**` takes any rest."""
    program, *arguments = command.words
    if not _means_word(pattern.program, program) or ("/" in program) != ("/" in pattern.program):
        return False
    known = _known_words(pattern, command)
    if command.has_glob and any(has_wildcard(word) for word in known):
        # Nobody knows how many words it will be, and which.
        return False
    if pattern.args is None:
        return True
    wanted = pattern.args
    if wanted and wanted[-1] == "**":
        wanted = wanted[:-1]
        arguments = arguments[: len(wanted)]
    return len(arguments) == len(wanted) and all(map(_means_word, wanted, arguments))


def _known_words(pattern: CommandPattern, command: SimpleReading) -> Sequence[str]:
    """The words of which the pattern says something, the program first."""
    if pattern.args is None:
        return command.words[:1]
    rest = pattern.args[-1:] == ("**",)
    return command.words[: len(pattern.args)] if rest else command.words


def words_under_wildcard(pattern: CommandPattern, command: SimpleReading) -> tuple[str, ...]:
    """The words of a command that means `pattern` which a glob over paths stands for."""
    globs = pattern.args or ()
    pairs = zip(globs, command.words[1:], strict=False)
    return tuple(word for glob, word in pairs if "/" in glob and literal_of(glob) is None)


def has_wildcard(text: str) -> bool:
    return any(sign in text for sign in "*?[")


def escape(word: str) -> str:
    """Write the glob that means this word alone."""
    return "".join(f"[{char}]" if char in "*?[" else char for char in word)


def literal_of(glob: str) -> str | None:
    """The one word that a glob from `escape` means; None for a glob that means several."""
    plain = _ESCAPED.sub("", glob)
    return None if has_wildcard(plain) else _ESCAPED.sub(lambda found: found[1], glob)


_ESCAPED = re.compile(r"\[([*?[])\]")


def _means_word(glob: str, word: str) -> bool:
    """A glob with a slash speaks of a path: it does not cross parts, or go up and elsewhere.

    A word without a sign means itself, also with a slash at its end: `./` is not all below it.
    """
    literal = literal_of(glob)
    if literal is not None:
        return literal == word
    if "/" not in glob:
        return fnmatchcase(word, glob)
    return ".." not in word.split("/") and translate_path_glob(glob).match(word) is not None


def _matches_path(glob: str, subject: Subject, *, certain: bool) -> bool:
    if certain:
        # Of a command nobody knows which of its words are paths.
        known = bool(subject.paths) and subject.command is None
        return known and all(_means_path(glob, names) for names in subject.paths)
    return any(may_mean_path(glob, name) for name in _all_names(subject))


def _means_path(glob: str, names: PathNames) -> bool:
    name = names.real if glob.startswith("/") else names.inside
    return name is not None and translate_path_glob(glob).match(name) is not None


def _all_names(subject: Subject) -> Iterator[str]:
    for names in (*subject.paths, *subject.touched):
        yield names.real
        yield from [names.inside] if names.inside is not None else []
        for given in names.spelled:
            yield from _spellings(given, subject.cwd)
    for text in _texts(subject):
        for segment in read_segments(text):
            for word in (*segment.words, *segment.targets):
                for part in parts_of(word):
                    yield from _spellings(part, subject.cwd)


def _spellings(given: str, cwd: str) -> Iterator[str]:
    """Yield the forms in which a rule may name a path, without a look at the disk."""
    full = posixpath.normpath(posixpath.join(cwd, given))
    yield from (given, posixpath.normpath(given) if given else "", full)
    if full.startswith(f"{cwd.rstrip('/')}/"):
        yield posixpath.relpath(full, cwd)


def may_mean_path(glob: str, name: str) -> bool:
    """Letter case and Unicode form do not count, and a folder stands for what is in it."""
    pattern = translate_path_glob(_fold(glob))
    folded = _fold(name)
    # A glob that begins with `**` means every depth, from the root on as well.
    forms = (folded, folded.lstrip("/")) if glob.startswith("**") else (folded,)
    return any(pattern.match(form) or pattern.match(f"{form}/") for form in forms)


def may_lie_below(glob: str, folder: str, cwd: str) -> bool:
    """Whether a deny or ask rule over `glob` may speak of something in the absolute `folder`."""
    if glob.startswith("**"):
        return True
    full = glob if glob.startswith("/") else posixpath.join(escape(cwd), glob.removeprefix("./"))
    wanted = [part for part in _fold(full).split("/") if part]
    if glob.endswith("/"):
        wanted.append("**")
    for part, pattern in zip([p for p in _fold(folder).split("/") if p], wanted, strict=False):
        if "**" in pattern:
            return True
        if literal_of(pattern) != part and not translate_path_glob(pattern).match(part):
            return False
    return len(wanted) > sum(1 for part in folder.split("/") if part)


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
