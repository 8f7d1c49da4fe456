"""What looks into files of folders: which names below them it surely leaves out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from shard_jupyter.core.permissions.shell.shell_verdict import ArgvReading
from shard_jupyter.core.permissions.shell.tables.read_by_table import read_by_table
from shard_jupyter.core.permissions.shell.tables.scan_words import scan_words
from shard_jupyter.core.permissions.shell.tables.searchers import DIFF, GREP, RG

_PLAIN_GLOB = re.compile(r"[\w.*?-]+")
"""Means the same to every program; of brackets and backslashes that is not sure."""
_NO_HIDDEN = "--iglob=!.*"
"""Comes after each `--glob`, wherever it stands."""
_SHOWS_HIDDEN = frozenset(("-.", "--hidden", "-u", "--unrestricted", "--iglob"))
_HIDDEN_GLOB = re.compile(r"(?!!)(?:.*/)?\.")


def judge_grep(argv: Sequence[str], has_glob: frozenset[int]) -> ArgvReading:
    """Of `--include` and `--exclude` the last that fits a name counts; folders are a third list."""
    skips: list[str] = []
    for name, value in scan_words(GREP, argv, has_glob).options:
        if name == "--include":
            skips = [glob for glob in skips if glob.endswith("/")]
        elif name in ("--exclude", "--exclude-dir") and _PLAIN_GLOB.fullmatch(value or ""):
            skips.append(f"{value}/" if name == "--exclude-dir" else f"{value}")
    return replace(read_by_table(GREP, argv, has_glob), skips=(".git/", *skips))


def judge_diff(argv: Sequence[str], has_glob: frozenset[int]) -> ArgvReading:
    options = scan_words(DIFF, argv, has_glob).options
    globs = [value or "" for name, value in options if name in ("-x", "--exclude")]
    plain = [glob for glob in globs if _PLAIN_GLOB.fullmatch(glob)]
    skips = (*plain, *(f"{glob}/" for glob in plain))
    return replace(read_by_table(DIFF, argv, has_glob), skips=skips)


def judge_rg(argv: Sequence[str], has_glob: frozenset[int]) -> ArgvReading:
    """Hidden files are left out, but for what a glob or a file of the workspace lets in again.

    The last glob on the command line stands above those, so one is added.
    """
    reading = read_by_table(RG, argv, has_glob)
    scan = scan_words(RG, argv, has_glob)
    globs = (value or "" for name, value in scan.options if name in ("-g", "--glob"))
    if reading.why_not or scan.has(_SHOWS_HIDDEN) or any(map(_HIDDEN_GLOB.match, globs)):
        return reading
    return replace(reading, run_as=("rg", _NO_HIDDEN, *argv[1:]), skips=(".*", ".*/"))
