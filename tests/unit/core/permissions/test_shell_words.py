"""What is said of a command, held against what bash makes of it."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path

import pytest

from shard_jupyter.core.permissions.rules import Subject, matches
from shard_jupyter.core.permissions.shell_words import is_easy, read_segments
from shard_jupyter.types.decisions import CommandPattern, Rule
from tests.shell_readings import bash
from tests.unit.core.permissions.ways_to_run import WAYS_TO_RUN_GIT

pytestmark = pytest.mark.proves("A06")


@pytest.mark.parametrize(
    "command",
    [
        "ls; rm x",
        "ls && rm x",
        "ls | sh",
        "ls & rm x",
        "ls\nrm x",
        "ls\rrm x",
        "ls $(rm x)",
        "ls `rm x`",
        "ls > x",
        "FOO=1 ls",
        "'FOO=1' ls",
        "ls {a,b}",
        "ls ~",
        "ls \\\nrm",
        "'unclosed",
        "",
        "   ",
        "'' ls",
        "ls \u2028rm",
        "lｓ",
        "!ls",
        "ls x\x00y",
    ],
)
def test_what_runs_more_than_a_rule_names_or_was_not_understood_is_not_allowed_by_it(
    command: str,
) -> None:
    rule = Rule(effect="allow", tool="bash", command=CommandPattern(program="ls"))
    assert not matches(rule, bash(command))
    assert not matches(rule, Subject(tool="bash", command=command))


def words_of(command: str) -> list[list[str]]:
    return [segment.words for segment in read_segments(command)]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("a b; c", [["a", "b"], ["c"]]),
        ("a 'b; c' d", [["a", "b; c", "d"]]),
        ('a "b; c"', [["a", "b; c"]]),
        ("a $(b c) d", [["a", "\0", "d"], ["b", "c"]]),
        ('a "x $(b) y"', [["a", "x \0 y"], ["b"]]),
        ("a `b` c", [["a", "\0", "c"], ["b"]]),
        ("a $x ${y}z", [["a", "\0x", "\0\0y\0z"]]),
        ("if a; then b; fi", [["a"], ["b"], ["fi"]]),
        ("a > f b", [["a", "b"]]),
        ("[ -f x ] && a", [["[", "-f", "x", "]"], ["a"]]),
        ("a # b; c\nd", [["a"], ["d"]]),
        ("a b#c", [["a", "b#c"]]),
        ("(a) b", [["a"], ["b"]]),
        ("a 'b", [["a", "b"]]),
    ],
)
def test_a_command_is_cut_where_a_program_may_begin(command: str, words: list[list[str]]) -> None:
    assert words_of(command) == words


def test_what_is_redirected_to_names_no_program() -> None:
    [segment] = read_segments("> out a < in b")
    assert (segment.program, segment.words, segment.targets) == ("a", ["a", "b"], ["out", "in"])


@pytest.mark.parametrize("command", ["a $x", "a `b`", "a # b", "a <<E", "a \\b", "f() { a; }"])
def test_only_quotes_and_separators_are_easy(command: str) -> None:
    assert not is_easy(command)
    assert is_easy("a 'b' \"c\"; d | e && f\ng")


def test_a_long_command_is_read_in_time_that_grows_with_it() -> None:
    """Nothing is asserted on the clock: quadratic time would pass the limit of the test run."""
    for piece in ("a;", "'", '"', "$(", "`", "a ", "\\\n", "((", "${", "<<E\n", "#\n"):
        read_segments(piece * (100_000 // len(piece)))


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The only programs there are: two that write down how they were called, and wrappers."""
    folder = tmp_path_factory.mktemp("bin")
    for name in ("git", "ls"):
        stub = folder / name
        stub.write_text(
            '#!/bin/bash\nprintf "%s\\0" "${0##*/}" "$@" "" >> "$RECORD"\n', encoding="utf-8"
        )
        stub.chmod(0o755)
    for name in ("env", "xargs", "bash", "cat"):
        real = shutil.which(name)
        assert real is not None
        (folder / name).symlink_to(real)
    return folder


def run_in_bash(command: str, programs: Path, folder: Path) -> list[list[str]]:
    """The calls of the two programs that bash made of it, whatever it said of the rest."""
    record = folder / "record"
    record.write_bytes(b"")
    subprocess.run(
        ["/bin/bash", "-c", command],
        env={"PATH": str(programs), "RECORD": str(record), "HOME": str(folder)},
        cwd=folder,
        check=False,
        timeout=10,
        stdin=subprocess.DEVNULL,
        capture_output=True,
    )
    calls = os.fsdecode(record.read_bytes()).split("\0\0")
    return [call.split("\0") for call in calls if call]


def made_up(seed: int, pieces: list[str], length: int) -> Iterator[str]:
    chance = random.Random(seed)
    while True:
        yield "".join(chance.choices(pieces, k=chance.randint(1, length)))


def changed(seed: int, commands: list[str], pieces: list[str]) -> Iterator[str]:
    """Commands with up to four pieces put in or characters taken out anywhere."""
    chance = random.Random(seed)
    while True:
        command = chance.choice(commands)
        for _ in range(chance.randint(0, 4)):
            place = chance.randint(0, len(command))
            piece = chance.choice(pieces) if chance.random() < 0.7 else ""
            command = command[:place] + piece + command[place + (not piece) :]
        yield command


RUN_PIECES = [
    "git", "gi", "g", "it", "t", " push", "push", "'", '"', "\\", "$", "a=git", "a=gi", "$a",
    "${a}", "$(", "`", ")", "(", " ", " ", "\n", ";", "|", "&&", "command ", "exec ", "eval ",
    "bash -c ", "env ", "xargs ", "#", "<<E", "\nE\n", "if ", " then ", " fi", "{ ", " }", "! ",
    "time ", "ls ", "cat ", "echo ", "'git push'", '"git push"', "$'", "\\x67", "\\\n", "x=",
    "for a in git", " do ", " done", "case a in a", " esac", "[[ a ]]", ":", "trap ", " EXIT",
]  # fmt: skip


def test_whatever_bash_runs_is_taken_by_a_deny_rule(
    programs: Path, tmp_path: Path, thorough: bool
) -> None:
    rule = Rule(effect="deny", tool="bash", command=CommandPattern(program="git"))
    tries, ran = (60_000, 0) if thorough else (900, 0)
    both = zip(made_up(2, RUN_PIECES, 10), changed(3, WAYS_TO_RUN_GIT, RUN_PIECES), strict=False)
    for command in islice(chain.from_iterable(both), tries):
        if any(call[0] == "git" for call in run_in_bash(command, programs, tmp_path)):
            ran += 1
            assert matches(rule, Subject(tool="bash", command=command)), command
    assert ran > tries // 10
