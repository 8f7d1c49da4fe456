"""git: subcommands that only read, in a form in which no repository can make them do more."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from shard_jupyter.core.files.protected_names import SECRET_FOLDERS, SECRET_NAMES
from shard_jupyter.core.permissions.shell.shell_verdict import ArgvReading
from shard_jupyter.core.permissions.shell.tables.command_table import CommandTable, names
from shard_jupyter.core.permissions.shell.tables.git_tables import GIT_ADDS, GIT_COMMANDS
from shard_jupyter.core.permissions.shell.tables.read_by_table import read_by_table
from shard_jupyter.core.permissions.shell.tables.scan_words import Scan, scan_words

_HARMLESS_BEFORE = frozenset(("--no-pager", "-P", "--no-optional-locks"))
_NETWORK = names(
    "fetch pull push clone ls-remote fetch-pack send-pack remote-http remote-https remote-ext "
    "submodule archive svn p4 cvsimport imap-send send-email request-pull daemon http-fetch "
    "http-push lfs annex bundle"
)
_LISTS = frozenset(("--list", "--contains", "--no-contains", "--merged", "--no-merged",
                    "--points-at"))  # fmt: skip
_BELOW = names("status diff grep ls-files")
"""They look at files of the folder themselves, not only at what is recorded."""
_RUNS_GPG = re.compile(r"%[-+ ]?(?:G|\(\*?signature)")


def judge_git(argv: Sequence[str], has_glob: frozenset[int]) -> ArgvReading:
    if tuple(argv[1:]) == ("--version",):
        return ArgvReading(is_git=True)
    at = 1
    while at < len(argv) and argv[at] in _HARMLESS_BEFORE:
        at += 1
    if has_glob:
        return ArgvReading(why_not="names of files may become options of git")
    if at == len(argv) or argv[at].startswith("-"):
        option = argv[at] if at < len(argv) else "nothing more"
        return ArgvReading(why_not=f"git with {option} is not known as harmless")
    name, words = _split(argv[at], argv[at + 1 :])
    table = GIT_COMMANDS.get(name)
    if table is None:
        return _not_known(argv[at], " ".join([argv[at], *argv[at + 1 : at + 2]]))
    return _read(name, table, words)


def _split(name: str, words: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Tell what is named by one word from what is named by two."""
    if name in ("stash", "remote") and words and not words[0].startswith("-"):
        return f"{name} {words[0]}", words[1:]
    return name, words


def _not_known(name: str, words: str) -> ArgvReading:
    is_network = name in _NETWORK or words in ("remote show", "remote update", "remote prune")
    if is_network:
        return ArgvReading(why_not=f"git {name} may talk to the network", network=True)
    return ArgvReading(why_not=f"git {name} is not known as a command that only reads")


def _read(name: str, table: CommandTable, words: Sequence[str]) -> ArgvReading:
    argv = (f"git {name}", *words)
    scan = scan_words(table, argv, frozenset())
    reading = read_by_table(table, argv, frozenset())
    why_not = reading.why_not or _why_not_list(name, scan) or _why_not_format(scan)
    if why_not:
        return ArgvReading(why_not=why_not, writes=reading.writes)
    if name in _BELOW and any(map(_FROM_TOP.match, reading.reads)):
        return ArgvReading(why_not="the top of a repository may lie outside of the workspace")
    paths = [path for word in reading.reads for path in paths_of(word)]
    if any("(" in path[:2] for path in paths):
        return ArgvReading(why_not="a path of git with such a sign is not understood")
    below = (tuple(paths) or (".",)) if name in _BELOW else ()
    return ArgvReading(
        reads=tuple(paths) or below,
        reads_below=below,
        run_as=("git", "--no-pager", *name.split(), *GIT_ADDS.get(name, ()), *words)
        if name != "grep"
        else _harmless_grep(words, scan),
        is_git=True,
    )


NOT_SEARCHED = ":(exclude,top,icase,glob)**/"
"""How what git shall leave out begins, in every folder and in any case."""
_NO_SECRETS = (
    *(f"{NOT_SEARCHED}{name}" for name in SECRET_NAMES),
    *(f"{NOT_SEARCHED}{name}/**" for name in sorted(SECRET_FOLDERS)),
)
_SIGNS = re.compile(r"[0-3]:|[!^/:]+")
"""Of a path, or a stage of the index, at the start of what stands behind a colon."""
_FROM_TOP = re.compile(r":[!^:]*/")
_IS_REVISION = re.compile(
    r"(?!:|\.\.$)(?:HEAD|@|[0-9a-f]{7,40}|.*[~^:].*|.*@\{.*|(?:.*[^/])?\.\.(?:[^/].*)?)"
)


def _harmless_grep(words: Sequence[str], scan: Scan) -> tuple[str, ...]:
    """`git grep` goes through a folder that has become a link, unless it looks itself what is there.

    With `--untracked` it does, and finds new files as well. It refuses revisions then: where those
    are given, nothing but revisions may stand before the `--`.
    """
    adds = GIT_ADDS["grep"]
    ends: tuple[str, ...] = ()
    patterns = 0 if scan.has(("-e",)) else 1
    operands = scan.operands[patterns : scan.dashes]
    if scan.has(("--cached",)):
        pass
    elif any(_IS_REVISION.fullmatch(word) for word in operands):
        ends = () if scan.dashes is not None else ("--",)
    else:
        adds = (*adds, "--untracked")
    return ("git", "--no-pager", "grep", *adds, *words, *ends, *_NO_SECRETS)


def paths_of(word: str) -> tuple[str, ...]:
    """The files that a revision, a path or either of them may name.

    `HEAD:src/a.py` is a file of a revision, `:!a` a path with a sign; and a word without any of
    that may be both.
    """
    revision, colon, path = word.partition(":")
    if not colon:
        return (word,)
    if revision:
        return (word, path) if path else (word,)
    signs = _SIGNS.match(path)
    return ((path[signs.end() :] if signs else path) or ".",)


def _why_not_list(name: str, scan: Scan) -> str:
    """`branch` and `tag` make one where they are not told to list."""
    lists: Mapping[str, frozenset[str]] = {"branch": _LISTS, "tag": _LISTS | {"-l"}}
    if name in lists and scan.operands and not scan.has(lists[name]):
        return f"git {name} with a name makes one"
    return ""


def _why_not_format(scan: Scan) -> str:
    texts = [value for option, value in scan.options if option in ("--format", "--pretty")]
    if any(_RUNS_GPG.search(text or "") for text in texts):
        return "such a format of git runs gpg"
    return ""
