"""Verdicts of a shell policy for tests that are not about the policy itself."""

from __future__ import annotations

from pathlib import Path

from shard_jupyter.core.permissions.rules import Subject
from shard_jupyter.core.permissions.shell.canonical import write_canonical
from shard_jupyter.core.permissions.shell.parse_command import parse_command
from shard_jupyter.core.permissions.shell.parsed_command import (
    NotUnderstood,
    all_redirections,
    simple_commands,
)
from shard_jupyter.core.permissions.shell.shell_verdict import (
    ArgvReading,
    ShellVerdict,
    SimpleReading,
)

READERS = frozenset({"cat", "ls", "head", "tail", "wc", "cd"})
"""All that this policy knows, and takes every argument of theirs for a path."""


def read_simply(text: str, workspace: Path = Path("/w")) -> ShellVerdict:
    """Understand as the real policy does, and find safe only reads of `READERS`."""
    parsed = parse_command(text)
    if isinstance(parsed, NotUnderstood):
        return ShellVerdict(why=parsed.reason)
    writes = [r for r in all_redirections(parsed) if ">" in r.operator and r.operator != ">&"]
    commands = tuple(
        SimpleReading(
            words=tuple(word.text for word in command.words),
            argv=_read_argv(tuple(word.text for word in command.words)),
            has_glob=any(word.is_glob for word in command.words),
            changes_files=any(r in writes for r in command.redirections),
        )
        for command in simple_commands(parsed)
    )
    refused = [command.argv.why_not for command in commands if command.argv.why_not]
    is_safe = not refused and not writes
    canonical = write_canonical(parsed)
    return ShellVerdict(
        is_safe=is_safe,
        why="it only reads inside the workspace" if is_safe else (*refused, "it writes a file")[0],
        canonical=canonical,
        confined=f"{canonical} #confined" if is_safe else "",
        commands=commands,
        writes=tuple(r.target.text for r in writes),
    )


def _read_argv(words: tuple[str, ...]) -> ArgvReading:
    if words[0] not in READERS:
        return ArgvReading(why_not=f"{words[0]} is not known")
    paths = tuple(word for word in words[1:] if not word.startswith("-"))
    return ArgvReading(reads=paths, reads_below=paths if "-R" in words else ())


def bash(command: str, cwd: str = "/w") -> Subject:
    return Subject(tool="bash", command=command, cwd=cwd, shell=read_simply(command))
