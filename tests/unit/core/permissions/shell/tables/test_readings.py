"""What a reading tells besides yes and no: paths, the network, and how it has to run."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shard_jupyter.core.permissions.shell.shell_verdict import ArgvReading
from shard_jupyter.core.permissions.shell.tables.find_table import JUDGES, TABLES, read_argv
from shard_jupyter.core.permissions.shell.tables.git_judge import NOT_SEARCHED
from tests.unit.core.permissions.shell.tables.test_find_table import LINES, Line


def read(command: str) -> ArgvReading:
    return read_argv(shlex.split(command))


@pytest.mark.parametrize(
    ("command", "reads", "below"),
    [
        ("ls", ".", ""),
        ("ls -R", ".", "."),
        ("ls -R src", "src", "src"),
        ("cat a -- -b", "a -b", ""),
        ("grep -r x", ".", "."),
        ("grep x a", "a", ""),
        ("grep x", "", ""),
        ("grep -f p a", "p a", ""),
        ("grep -rf p a", "p a", "a"),
        ("rg x", ".", "."),
        ("rg --files a", "a", "a"),
        ("rg -e x a", "a", "a"),
        ("find", ".", "."),
        ("find a b -name x -newer c", "a b c", "a b"),
        ("tree", ".", "."),
        ("du -s a", "a", "a"),
        ("sed -n 1p a", "a", ""),
        ("sed -n -e 1p a b", "a b", ""),
        ("jq . a", "a", ""),
        ("date -r a", "a", ""),
        ("test -f a", "a", ""),
        ("[ ! -e a ]", "a", ""),
        ("realpath --relative-to=a b", "a b", ""),
        ("git show HEAD:a", "HEAD:a a", ""),
        ("git log -- a", "a", ""),
        ("git log -- :!a :^b", "a b", ""),
        ("git show :0:a", "a", ""),
        ("git show :a :./b", "a ./b", ""),
        ("git show HEAD:", "HEAD:", ""),
        ("git log a..b -- c", "a..b c", ""),
        ("git status", ".", "."),
        ("git grep x -- a", "a", "a"),
        ("echo a", "", ""),
    ],
)
def test_paths_that_are_read_are_told(command: str, reads: str, below: str) -> None:
    reading = read(command)

    assert reading.why_not == ""
    assert reading.reads == tuple(reads.split())
    assert reading.reads_below == tuple(below.split())
    assert set(reading.reads_below) <= set(reading.reads)


@pytest.mark.parametrize(
    ("command", "writes"),
    [
        ("rm -rf a b", "a b"),
        ("cp -r a b", "b"),
        ("mv a b", "a b"),
        ("tee -a a", "a"),
        ("mkdir -p a/b", "a/b"),
        ("touch -- -a", "-a"),
        ("chmod +x a", "a"),
        ("dd if=a of=b", "b"),
        ("sort -o a b", "a"),
        ("sort -uoa b", "a"),
        ("sort --output=a b", "a"),
        ("find a -fprint b", "b"),
        ("find a -delete", "a"),
        ("sed -i s/a/b/ c d", "c d"),
        ("tree -o a", "a"),
        ("git diff --output=a", "a"),
    ],
)
def test_paths_that_would_be_written_are_told(command: str, writes: str) -> None:
    reading = read(command)

    assert reading.why_not
    assert reading.writes == tuple(writes.split())


@pytest.mark.proves("T45")
@pytest.mark.parametrize(
    "command", ["curl x", "wget x", "ssh x", "git fetch", "git pull", "git push", "git clone x",
                "git ls-remote", "git remote update", "git remote show origin", "pip install x",
                "npm ci", "cargo build", "apt install x", "ping x", "getent hosts x", "docker ps"]
)  # fmt: skip
def test_what_may_reach_the_network_says_so(command: str) -> None:
    reading = read(command)

    assert reading.why_not
    assert reading.network


def test_what_only_reads_reaches_no_network() -> None:
    assert not any(read_argv(line.words).network for line in LINES if line.is_safe)


@pytest.mark.parametrize(
    ("command", "run_as"),
    [
        ("diff a b", "diff --no-dereference a b"),
        ("rg x -g '*.py'", "rg '--iglob=!.*' x -g '*.py'"),
        ("git status -s", "git --no-pager status --ignore-submodules=all -s"),
        ("git -P diff a",
         "git --no-pager diff --no-ext-diff --no-textconv --ignore-submodules=all a"),
        ("git log -3", "git --no-pager log --no-ext-diff --no-textconv -3"),
        ("git stash show -p", "git --no-pager stash show --no-ext-diff --no-textconv -p"),
        ("git blame a", "git --no-pager blame --no-textconv a"),
        ("git grep x", "git --no-pager grep --no-textconv --untracked x"),
        ("git grep --cached x", "git --no-pager grep --no-textconv --cached x"),
        ("git grep x HEAD", "git --no-pager grep --no-textconv x HEAD --"),
        ("git grep x HEAD -- a", "git --no-pager grep --no-textconv x HEAD -- a"),
        ("ls", ""),
    ],
)  # fmt: skip
def test_arguments_that_make_it_harmless_are_added(command: str, run_as: str) -> None:
    reading = read(command)

    assert reading.why_not == ""
    given = [word for word in reading.run_as if not word.startswith(NOT_SEARCHED)]
    assert shlex.join(given) == run_as
    assert (len(given) < len(reading.run_as)) is command.startswith("git grep")
    assert reading.is_git is command.startswith("git")


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("rm a", "rm deletes files"),
        ("curl a", "curl talks to the network"),
        ("python3 a", "python3 runs code"),
        ("python3.12 a", "python3.12 runs code"),
        ("make", "make runs what the Makefile says"),
        ("sort --outp=a", "--outp is not known as a harmless option of sort"),
        ("tail -f a", "tail -f does not end"),
        ("git push", "git push may talk to the network"),
        ("x", "nothing is known of x"),
        ("./x", "./x may be any program, also one of the workspace"),
    ],
)
def test_reason_is_told_in_words(command: str, why: str) -> None:
    assert read(command).why_not == why


def test_reason_is_one_short_line_whatever_the_words_are() -> None:
    why_not = read_argv(["cat", "--a\nb\x1b[2K" + "c" * 9000]).why_not

    assert why_not.startswith("--a\\nb\\x1b[2Kccc")
    assert len(why_not) < 210


@pytest.mark.proves("T47")
@pytest.mark.parametrize("program", sorted(TABLES))
@pytest.mark.parametrize("option", ["--no-such-option", "--outp", "-\u00e4", "--=x", "--\n"])
def test_unknown_option_is_never_safe(program: str, option: str) -> None:
    assert read_argv([program, option]).why_not


@pytest.mark.proves("T47")
@pytest.mark.parametrize("program", sorted({*TABLES, *JUDGES} - {"["}))
def test_glob_that_may_become_an_option_is_never_safe(program: str) -> None:
    assert read_argv([program, "-*"], has_glob=frozenset({1})).why_not
    assert read_argv([program, "--*"], has_glob=frozenset({1})).why_not
    assert read_argv([program], has_glob=frozenset({0})).why_not


@pytest.mark.parametrize("program", ["find", "git", "uniq", "xxd", "diff"])
def test_glob_is_never_safe_where_the_number_of_words_matters(program: str) -> None:
    words = [program, "log", "--", "src/*"] if program == "git" else [program, "src/*"]
    assert read_argv(words, has_glob=frozenset({len(words) - 1})).why_not


_WORDS = st.lists(
    st.one_of(
        st.sampled_from(
            [*TABLES, *JUDGES, "log", "stash", "show", "-n", "-e", "-", "--", "]", "!"]
        ),
        st.text(max_size=8),
    ),
    max_size=6,
)


@given(_WORDS, st.frozensets(st.integers(0, 6)))
def test_any_words_are_judged_without_an_error(words: list[str], globs: frozenset[int]) -> None:
    reading = read_argv(words, has_glob=globs)

    assert not (reading.writes and not reading.why_not)
    assert not (reading.network and not reading.why_not)
    assert set(reading.reads_below) <= set(reading.reads)


_PLAIN_TABLES = [
    line
    for line in LINES
    if line.is_safe and line.words[0] in TABLES and TABLES[line.words[0]].permutes
]


@pytest.mark.proves("T47")
@given(st.sampled_from(_PLAIN_TABLES), st.data())
def test_one_unknown_option_makes_a_safe_line_unsafe(line: Line, data: st.DataObject) -> None:
    at = data.draw(st.integers(1, len(line.words)))
    before = line.words[at - 1]
    may_want_a_value = at > 1 and before.startswith("-") and before != "-"
    if not may_want_a_value and "--" not in line.words:
        words = (*line.words[:at], "--no-such-option", *line.words[at:])
        assert read_argv(words).why_not
