"""A call as rules see it: every path with all its names, and its command as it was read."""

from __future__ import annotations

import hashlib
import os
import shlex
import stat
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from shard_jupyter.contracts.permission_gate import GateRequest
from shard_jupyter.core.files.file_change import ABSENT, MAX_FILE_BYTES
from shard_jupyter.core.permissions.rules import PathNames, Subject, looks_at_words
from shard_jupyter.core.permissions.shell.shell_verdict import ShellVerdict
from shard_jupyter.core.permissions.shell.tables.git_judge import NOT_SEARCHED
from shard_jupyter.core.permissions.shell_words import EXPANDED, read_segments
from shard_jupyter.errors import ToolFailed
from shard_jupyter.types.decisions import Rule

CHANGES_FOLDER = frozenset({"cd", "pushd", "popd"})


class Location(Protocol):
    """Where a path given by a model really lies."""

    @property
    def real(self) -> Path: ...
    @property
    def inside(self) -> bool: ...
    @property
    def protected(self) -> bool: ...
    @property
    def reads_freely(self) -> bool: ...
    @property
    def why(self) -> str: ...


Locate = Callable[[Path, str], Location]
JudgeCommand = Callable[[str, Path], ShellVerdict]


@dataclass(frozen=True)
class JudgedCall:
    """A request with all that was found out about it.

    Attributes:
        verdict: how its command was read; None: it has none.
        moves: some command in it changes the folder, so that relative names are not known.
    """

    request: GateRequest
    places: Sequence[Location]
    subject: Subject
    verdict: ShellVerdict | None = None
    moves: bool = False

    @property
    def canonical(self) -> str:
        """What would run in place of the given text; empty: that itself."""
        if self.verdict is None or not self.request.reach.obeys_context:
            return ""
        return self.verdict.canonical


def look_at(
    request: GateRequest, locate: Locate, judge_command: JudgeCommand, *, rules: Sequence[Rule]
) -> JudgedCall:
    """Gather what the gate decides by. Looks at the file system.

    The words of a command are followed on the disk only if one of `rules` asks for it.

    Raises:
        ToolFailed: the call names a path that is none.
    """
    places = [locate(request.cwd, path) for path in request.reach.paths]
    command = request.reach.command
    verdict = None if command is None else judge_command(command, request.cwd)
    named = tuple(
        _names_of(place, given, request.cwd)
        for given, place in zip(request.reach.paths, places, strict=True)
    )
    follows = verdict is not None and any(map(looks_at_words, rules))
    touched = _touched(verdict, request.cwd, locate) if verdict and follows else ()
    subject = Subject(request.tool, named, command, str(request.cwd), verdict, touched)
    return JudgedCall(request, places, subject, verdict, _moves(subject, request.cwd, locate))


def _names_of(place: Location, given: str, cwd: Path) -> PathNames:
    """Give a path all its names, so that a rule cannot be dodged by spelling."""
    real = place.real
    inside = str(real.relative_to(cwd)) if real.is_relative_to(cwd) else None
    return PathNames(str(real), inside, (given,))


def _touched(verdict: ShellVerdict, cwd: Path, locate: Locate) -> tuple[PathNames, ...]:
    """Follow what a command names. A word that is no path costs a look and harms nothing."""
    words = [word for command in verdict.commands for word in command.words[1:]]
    for command in verdict.commands:
        words += [*command.argv.reads, *command.argv.writes]
    words += _words_of(verdict.confined)  # patterns are names in it
    found = []
    for word in dict.fromkeys((*words, *verdict.writes)):
        with suppress(ToolFailed):
            found.append(_names_of(locate(cwd, word), word, cwd))
    return tuple(found)


def _words_of(confined: str) -> list[str]:
    words = [
        word
        for segment in read_segments(confined)
        for word in (*segment.words, *segment.targets)
        if EXPANDED not in word
    ]
    with suppress(ValueError):  # the text of a here-document need not have its quotes in pairs
        words += shlex.split(confined)
    return [word for word in words if not word.startswith(NOT_SEARCHED)]


def _moves(subject: Subject, cwd: Path, locate: Locate) -> bool:
    commands = () if subject.shell is None else subject.shell.commands
    return any(
        command.words[0] in CHANGES_FOLDER and not _stays(command.words, cwd, locate)
        for command in commands
    )


def _stays(words: Sequence[str], cwd: Path, locate: Locate) -> bool:
    """`cd` into the workspace itself: what models often write in front."""
    if words[0] != "cd" or len(words) != 2 or words[1].startswith("-"):
        return False
    with suppress(ToolFailed):
        return locate(cwd, words[1]).real == cwd
    return False


def content_of(place: Location) -> str:
    """The SHA-256 of a file in hex; of what is no file, what it is instead.

    Costs a read of the file: ask for it only where a person is or was asked.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(place.real, flags)
    except FileNotFoundError:
        return ABSENT
    except OSError as error:
        return f"unreadable: {error.strerror}"
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return "no file"
        if status.st_size > MAX_FILE_BYTES:  # no tool changes such a file
            return f"{status.st_size} bytes of {status.st_mtime_ns}"
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:  # a disk that fails, or a file that goes while it is read
        return f"unreadable: {error.strerror}"
    finally:
        os.close(descriptor)


def identity_of(place: Location) -> str:
    """Which file lies at a place now: another one under the same name is another identity."""
    try:
        status = place.real.lstat()
    except OSError:
        return ABSENT
    return f"{status.st_dev}:{status.st_ino}"
