"""Which table or judge knows a program, and what it says of one command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from shard_jupyter.core.permissions.shell.shell_verdict import ArgvReading
from shard_jupyter.core.permissions.shell.tables.command_table import CommandTable
from shard_jupyter.core.permissions.shell.tables.file_readers import FILE_READERS
from shard_jupyter.core.permissions.shell.tables.find_judge import judge_find
from shard_jupyter.core.permissions.shell.tables.git_judge import judge_git
from shard_jupyter.core.permissions.shell.tables.outside_programs import (
    ONLY_VERSION,
    read_outside,
)
from shard_jupyter.core.permissions.shell.tables.plain_judges import (
    judge_command,
    judge_date,
    judge_echo,
    judge_jq,
    judge_printf,
    judge_sed,
    judge_test,
)
from shard_jupyter.core.permissions.shell.tables.read_by_table import read_by_table
from shard_jupyter.core.permissions.shell.tables.search_judges import (
    judge_diff,
    judge_grep,
    judge_rg,
)
from shard_jupyter.core.permissions.shell.tables.searchers import SEARCHERS
from shard_jupyter.core.permissions.shell.tables.system_facts import SYSTEM_FACTS

TABLES: Mapping[str, CommandTable] = {**FILE_READERS, **SEARCHERS, **SYSTEM_FACTS}

JUDGES: Mapping[str, Callable[[Sequence[str], frozenset[int]], ArgvReading]] = {
    "echo": judge_echo,
    "printf": judge_printf,
    "test": judge_test,
    "[": judge_test,
    "command": judge_command,
    "date": judge_date,
    "sed": judge_sed,
    "jq": judge_jq,
    "diff": judge_diff,
    "grep": judge_grep,
    "egrep": judge_grep,
    "fgrep": judge_grep,
    "rg": judge_rg,
    "find": judge_find,
    "git": judge_git,
}


MAX_TOLD = 200
"""Characters of a reason; a word in it may be of any length."""


def read_argv(argv: Sequence[str], *, has_glob: frozenset[int] = frozenset()) -> ArgvReading:
    """Say what a program does with these arguments; in doubt, that it is not safe.

    `has_glob`: indexes of words that stand for names of files that are not known yet. Once they
    are, the whole command has to be read anew: a name may look like an option. Pure.
    """
    reading = _read(argv, has_glob)
    return replace(reading, why_not=_in_one_line(reading.why_not))


def _in_one_line(text: str) -> str:
    told = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
    return told if len(told) <= MAX_TOLD else f"{told[:MAX_TOLD]}…"


def _read(argv: Sequence[str], has_glob: frozenset[int]) -> ArgvReading:
    if not argv or not argv[0]:
        return ArgvReading(why_not="there is no program")
    argv = list(argv)
    name = argv[0]
    if 0 in has_glob and name != "[":
        return ArgvReading(why_not=f"{name} may be any program")
    globs = has_glob - {0}
    if "/" in name:
        return ArgvReading(why_not=f"{name} may be any program, also one of the workspace")
    if name in ONLY_VERSION and tuple(argv[1:]) == ("--version",):
        return ArgvReading()
    if judge := JUDGES.get(name):
        return judge(argv, globs)
    if table := TABLES.get(name):
        return read_by_table(table, argv, globs)
    return read_outside(argv) or ArgvReading(why_not=f"nothing is known of {name}")
