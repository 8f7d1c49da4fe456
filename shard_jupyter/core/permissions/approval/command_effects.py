"""What one simple command of a shell text does, as far as its words tell. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from shard_jupyter.core.permissions.approval import program_effects as effects
from shard_jupyter.core.permissions.approval.place_names import hosts_in
from shard_jupyter.core.permissions.shell.shell_verdict import SimpleReading

_LOGIN_HOST = re.compile(r"[\w.+-]+@([\w.-]+)(?::.*)?\Z")
_RUNS_ELSEWHERE = ("--upload-pack", "--receive-pack", "--exec")


def program_of(command: SimpleReading) -> str:
    return command.words[0].rpartition("/")[2]


def git_command(command: SimpleReading) -> str:
    """The sub-command of git; empty for another program, an option where one comes first."""
    return command.words[1] if program_of(command) == "git" and len(command.words) > 1 else ""


def is_known(command: SimpleReading) -> bool:
    """Whether its name and its arguments tell all that it does."""
    if not command.argv.why_not:
        return True
    if "/" in command.words[0]:
        return False
    if command.words[0] == "git":
        words = command.words[2:]
        is_odd = any(word.startswith(_RUNS_ELSEWHERE) for word in words)
        return git_command(command) in effects.GIT_KNOWN and not is_odd
    return command.words[0] in effects.CHANGE_PATHS | effects.ONLY_TELL | effects.END_OTHERS


def talks(command: SimpleReading) -> bool:
    if command.argv.network or program_of(command) in effects.TALK:
        return True
    only_here = effects.GIT_KNOWN - effects.GIT_TALKS
    return program_of(command) == "git" and git_command(command) not in only_here


def hosts_of(command: SimpleReading) -> tuple[str, ...]:
    """The other machines that its words name; a remote of git by its name."""
    words = command.words[1:]
    hosts = [*hosts_in(" ".join(words))]
    hosts += [found[1] for word in words if (found := _LOGIN_HOST.match(word))]
    if not hosts and git_command(command) in ("push", "pull", "fetch"):
        operands = [word for word in words[1:] if not word.startswith("-")]
        if operands and re.fullmatch(r"[\w.-]+", operands[0]):
            hosts.append(f'the remote "{operands[0]}" of git')
    return tuple(dict.fromkeys(hosts))


def changed_by(command: SimpleReading) -> Sequence[str]:
    """The paths that it changes, as given: those that a table knows, else by its arguments."""
    program = program_of(command)
    if command.argv.writes or program not in effects.CHANGE_PATHS:
        return command.argv.writes
    operands = [word for word in command.words[1:] if not word.startswith("-") or word == "-"]
    if program == "dd":
        return [word[3:] for word in operands if word.startswith("of=")]
    if program in effects.SKIP_FIRST:
        return operands[1:]
    return operands[-1:] if program in effects.TARGET_LAST else operands


def cannot_be_undone(command: SimpleReading) -> bool:
    is_gone = git_command(command) in effects.GIT_LOSES
    return is_gone or program_of(command) in effects.CANNOT_BE_UNDONE
