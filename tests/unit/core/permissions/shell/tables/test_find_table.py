"""What the tables say of every command line of the corpora that is one plain command."""

from __future__ import annotations

import json
import os.path
import shlex
from dataclasses import dataclass

import pytest

from shard_jupyter.core.permissions.shell.shell_verdict import ArgvReading
from shard_jupyter.core.permissions.shell.tables.find_table import JUDGES, TABLES, read_argv
from shard_jupyter.core.permissions.shell.tables.git_tables import GIT_ADDS, GIT_COMMANDS
from tests.conftest import DATA

# What more than one command is, or has words that a shell expands, is the parser's part.
_OF_A_SHELL = set("|;&<>`{}~#$")
_EXPANDED_IN_QUOTES = "$`"
_QUOTES = set("'\"")


@dataclass(frozen=True)
class Line:
    id: str
    words: tuple[str, ...]
    has_glob: frozenset[int]
    is_safe: bool


def _read_line(row: dict[str, object]) -> Line | None:
    """None: there is more in it than one command of plain words and globs."""
    command = str(row["cmd"])
    try:
        raw, words = shlex.split(command, posix=False), shlex.split(command)
    except ValueError:
        return None
    bare = [word for word in raw if not _QUOTES & set(word)]
    signs = _EXPANDED_IN_QUOTES if '"' in command else ""
    if not words or words[0] == "!" or len(raw) != len(words) or not command.isprintable():
        return None
    if any(set(word) & _OF_A_SHELL for word in bare) or any(sign in command for sign in signs):
        return None
    globs = {at for at, word in enumerate(raw) if word in bare and set(word) & set("*?[")}
    return Line(str(row["id"]), tuple(words), frozenset(globs), row["safe_readonly"] is True)


def read_lines(name: str) -> list[Line]:
    rows = [json.loads(text) for text in (DATA / name).read_bytes().split(b"\n") if text]
    return [line for row in rows if (line := _read_line(row))]


LINES = [*read_lines("bad_shell_commands.jsonl"), *read_lines("own_shell_commands.jsonl")]


def _is_inside(path: str) -> bool:
    """What the gate finds out from the file system, as far as a text tells it."""
    parts = os.path.normpath(path).split("/")
    return not path.startswith(("/", "~")) and parts[0] not in ("..", ".git", ".env")


def allows(reading: ArgvReading) -> bool:
    return not reading.why_not and all(map(_is_inside, reading.reads))


@pytest.mark.proves("T45", "T46", "T47", "T51", "T78", "H4a.03")
@pytest.mark.parametrize("line", LINES, ids=lambda line: line.id)
def test_line_of_a_corpus_is_judged_as_it_says(line: Line) -> None:
    reading = read_argv(line.words, has_glob=line.has_glob)

    assert allows(reading) is line.is_safe, reading
    if reading.why_not:
        assert reading.why_not.strip()
        assert "\n" not in reading.why_not


def test_nearly_every_line_of_the_corpus_is_one_plain_command() -> None:
    assert len([line for line in LINES if line.id.startswith("own-")]) > 600
    assert len([line for line in LINES if line.id.startswith("sh")]) > 180


def test_every_program_of_the_tables_has_safe_and_unsafe_lines() -> None:
    never_unsafe = {"true", "false", ":", "echo", "pwd", "whoami", "arch", "tty", "groups", "hd"}
    safe = {line.words[0] for line in LINES if line.is_safe}
    unsafe = {line.words[0] for line in LINES if not line.is_safe}
    programs = {*TABLES, *JUDGES} - {"sha224sum", "sha384sum"}

    assert programs - safe == set()
    assert programs - unsafe - never_unsafe == set()


def test_every_command_of_git_has_safe_and_unsafe_lines() -> None:
    harmless = {"version", "merge-base", "count-objects", "remote get-url"}
    for is_safe, untried in ((True, set()), (False, harmless)):
        lines = [line.words[1:] for line in LINES if line.words[0] == "git"]
        lines = [
            words for words in lines if words and allows(read_argv(["git", *words])) is is_safe
        ]
        named = {words[0] for words in lines} | {" ".join(words[:2]) for words in lines}
        assert set(GIT_COMMANDS) - named <= untried


def test_every_table_is_well_written() -> None:
    for table in (*TABLES.values(), *GIT_COMMANDS.values()):
        assert table.known
        assert table.roles
        assert set(table.instead.split()) <= set(table.known)
        assert table.below == "always" or set(table.below.split()) <= set(table.known)
    assert set(GIT_ADDS) <= set(GIT_COMMANDS)
