"""find: an expression of tests, in which some actions write files or run programs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from shard_jupyter.core.permissions.shell.shell_verdict import ArgvReading
from shard_jupyter.core.permissions.shell.tables.command_table import names

_BARE = names("""
    ( ) ! , -not -a -and -o -or -print -print0 -ls -prune -quit -depth -d -mount -xdev -empty -true
    -false -nouser -nogroup -readable -writable -executable -daystart -noleaf -warn -nowarn
    -ignore_readdir_race -noignore_readdir_race --help -help --version -version
""")
_WITH_TEXT = names("""
    -name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -lname -ilname -type
    -xtype -maxdepth -mindepth -mtime -mmin -atime -amin -ctime -cmin -size -user -group -uid -gid
    -perm -links -inum -used -fstype -context -printf -newerat -newerBt -newerct -newermt
""")
_WITH_PATH = re.compile(r"-(?:newer|anewer|cnewer|samefile|newer[aBcm][aBcm])")
_RUNS = names("-exec -execdir -ok -okdir")
_WRITES = names("-fprint -fprint0 -fprintf -fls")


def judge_find(argv: Sequence[str], has_glob: frozenset[int]) -> ArgvReading:
    if has_glob:
        return ArgvReading(why_not="names of files may become actions of find")
    words = list(argv[1:])
    while words and (words[0] == "-P" or re.fullmatch("-O[0-3]", words[0])):
        del words[0]
    starts = []
    while words and words[0] and not words[0].startswith("-") and words[0] not in ("(", "!", ","):
        starts.append(words.pop(0))
    why_not, paths = _read_expression(words)
    if why_not:
        return ArgvReading(why_not=why_not, writes=_written(words, starts))
    below = tuple(starts) or (".",)
    return ArgvReading(reads=(*below, *paths), reads_below=below)


def _read_expression(words: Sequence[str]) -> tuple[str, list[str]]:
    paths: list[str] = []
    at = 0
    while at < len(words):
        word = words[at]
        if word in _BARE:
            at += 1
        elif word in _WITH_TEXT:
            if word.startswith("-newer") and "TZ" in "".join(words[at + 1 : at + 2]):
                return f"the time zone of find {word} may be any file", []
            at += 2
        elif _WITH_PATH.fullmatch(word):
            paths += words[at + 1 : at + 2]
            at += 2
        else:
            return _say_why(word), []
    return "", paths


def _say_why(word: str) -> str:
    if word in _RUNS:
        return f"find {word} runs another program"
    if word in _WRITES:
        return f"find {word} writes a file"
    if word == "-delete":
        return "find -delete deletes files"
    if word in ("-L", "-H", "-follow"):
        return f"find {word} follows links, which may lead out of the workspace"
    return f"{word} is not known as a harmless part of find"


def _written(words: Sequence[str], starts: Sequence[str]) -> tuple[str, ...]:
    files = [after for word, after in pairwise(words) if word in _WRITES]
    return (*files, *((starts or ".") if "-delete" in words else ()))
