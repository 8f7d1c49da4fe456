from __future__ import annotations

import pytest

from shard_jupyter.core.permissions.shell.parse_command import parse_command
from shard_jupyter.core.permissions.shell.parsed_command import (
    CommandList,
    Group,
    NotUnderstood,
    Redirection,
    SimpleCommand,
    simple_commands,
)
from shard_jupyter.core.permissions.shell.parsing.read_commands import MAX_COMMANDS, MAX_DEPTH

pytestmark = pytest.mark.proves("A06", "T44")


def understood(text: str) -> CommandList:
    parsed = parse_command(text)
    assert isinstance(parsed, CommandList), parsed
    return parsed


def argvs(text: str) -> list[list[str]]:
    return [[word.text for word in one.words] for one in simple_commands(understood(text))]


def reason(text: str) -> str:
    parsed = parse_command(text)
    assert isinstance(parsed, NotUnderstood), parsed
    return parsed.reason


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ls", ["ls"]),
        ("ls -la\t src", ["ls", "-la", "src"]),
        ("l's' \"a b\"c'd'", ["ls", "a bcd"]),
        ("\\ls a\\;b", ["ls", "a;b"]),
        ("echo '' \"\"", ["echo", "", ""]),
        ('echo "a\\$b\\"c\\`d\\e\\\\"', ["echo", 'a$b"c`d\\e\\']),
        ("grep '$(id)' x", ["grep", "$(id)", "x"]),
        ('grep "foo$" x', ["grep", "foo$", "x"]),
        ("grep ^foo$ x", ["grep", "^foo$", "x"]),
        ("echo a#b c~ HEAD~1", ["echo", "a#b", "c~", "HEAD~1"]),
        ("echo 'it'\\''s' \"a\"\\;", ["echo", "it's", "a;"]),
        ("find . \\( -name a \\)", ["find", ".", "(", "-name", "a", ")"]),
        ("git show HEAD@{1} {}", ["git", "show", "HEAD@{1}", "{}"]),
        ("[ ! -f x -a b != c ]", ["[", "!", "-f", "x", "-a", "b", "!=", "c", "]"]),
        ("ls # ; rm x", ["ls"]),
        ("ls;", ["ls"]),
    ],
)
def test_words_are_read_as_bash_reads_them(text: str, words: list[str]) -> None:
    assert argvs(text) == [words]


@pytest.mark.parametrize(
    ("text", "glob"),
    [("ls *.py", True), ("ls '*.py'", False), ("ls \\*.py", False), ('ls "a"?', True),
     ("ls a[1]", True), ("[ -f x ]", False), ("ls a]", False), ("ls [a", False)],
)  # fmt: skip
def test_only_unquoted_signs_make_a_glob(text: str, glob: bool) -> None:
    command = next(simple_commands(understood(text)))
    assert any(word.is_glob for word in command.words) is glob


def test_chains_pipelines_and_groups_keep_their_shape() -> None:
    parsed = understood("! a | b && (c; d) || { e\n f; } 2>&1; g\n\nh\n")
    assert [connector for connector, _ in parsed.items] == ["", "&&", "||", ";", ";"]
    first, second, third = (line for _, line in parsed.items[:3])
    assert first.is_negated
    assert len(first.stages) == 2
    assert isinstance(second.stages[0], Group)
    assert second.stages[0].is_subshell
    assert isinstance(third.stages[0], Group)
    assert not third.stages[0].is_subshell
    assert third.stages[0].redirections[0].operator == ">&"


def test_a_redirection_belongs_to_the_last_command_of_a_chain() -> None:
    first, last = simple_commands(understood("ls && wc >x"))
    assert (first.redirections, last.redirections[0].target.text) == ((), "x")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ls 2>/dev/null", (">", "/dev/null", 2)),
        ("ls 2>&1", (">&", "1", 2)),
        ("ls >&-", (">&", "-", None)),
        ("ls >& f", ("&>", "f", None)),
        ("ls <f", ("<", "f", None)),
        ("cat <<< a'b'", ("<<<", "ab", None)),
        ("cat <<'E'\n$(x)\\n\n\nE", ("<<", "$(x)\\n\n\n", None)),
        ("cat <<-\\E\n\t\tx\n\tE\n", ("<<", "x\n", None)),
        ("ls |& wc", (">&", "1", 2)),
    ],
)
def test_redirections_are_read_as_bash_reads_them(
    text: str, expected: tuple[str, str, int | None]
) -> None:
    (found,) = next(simple_commands(understood(text))).redirections
    assert (found.operator, found.target.text, found.descriptor) == expected


def test_here_documents_follow_their_line_in_order() -> None:
    text = "cat <<'A' | wc <<\"B\"; pwd # <<C\n1\nA\n2\nB\nls"
    commands = list(simple_commands(understood(text)))
    assert [one.words[0].text for one in commands] == ["cat", "wc", "pwd", "ls"]
    assert [one.redirections[0].target.text for one in commands[:2]] == ["1\n", "2\n"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("ls $ARGS", "`$ARGS` is only known when it runs"),
        ('echo "${x@P}"', "`${x@P}` is only known when it runs"),
        ("echo $(x)", "runs another command"),
        ("echo `x`", "runs another command"),
        ("cat <(x)", "runs another command"),
        ("ls > >(x)", "runs another command"),
        ("echo $((1))", "arithmetic"),
        ("echo $'\\x72'", "hides"),
        ("A=b ls", "`A=b` changes a variable"),
        ("A=b", "changes a variable"),
        ("export A=b", "changes the state"),
        ("f() { ls; }", "function"),
        ("for f in a; do ls; done", "loop"),
        ("if true; then ls; fi", "condition"),
        ("ls & pwd", "background"),
        ("ls &", "background"),
        ("[[ -f x ]]", "evaluates"),
        ("echo {a,b}", "several words"),
        ("echo a{1..3}", "several words"),
        ("cat ~/x", "home folder"),
        ("echo a=~/x", "home folder"),
        ("cat <<E\nx\nE", "here-document"),
        ("cat <<'E'\nx\n", "does not end"),
        ("time ls", "language"),
        ("'if' x", "language"),
        ("! ! ls", "language"),
        ("'a=b' x", "no name of a program"),
        ("'' x", "no name of a program"),
        ("l? x", "only known when it runs"),
        ("ls >*.txt", "only known when it runs"),
        ("ls 2>f -l", "after a redirection"),
        ("<f cat", "after a redirection"),
        ("[ -d s>name ]", "after a redirection"),
        ("ls -la2>&1", "descriptor"),
        ("ls {fd}>x", "descriptor"),
        ("ls 12>x", "descriptor"),
        ("ls >&2x", "redirection"),
        ("cat a\\ b", "backslash"),
        ("ls '", "not closed"),
        ("{rm,-rf,x}", "several words"),
        ("cat <> f", "valid"),
        ("ls ;; pwd", "looked into"),
        ("echo ] ]", "two ways"),
        ("echo a\n\\ls", "two ways"),
        ("(ls", "not closed"),
        ("ls )", "no meaning"),
    ],
)
def test_what_is_not_plain_is_not_understood_and_says_why(text: str, why: str) -> None:
    assert why in reason(text)


@pytest.mark.proves("T78")
@pytest.mark.parametrize(
    "text", ["[[ -v 'a[$(x)]' ]]", "(( a[$(x)] ))", "echo ${a[$(x)]}", "unset 'a[$(x)]'",
             "declare 'a[$(x)]=1'", "echo $[a[$(x)]]"]
)  # fmt: skip
def test_what_bash_evaluates_again_is_not_understood(text: str) -> None:
    assert reason(text)


@pytest.mark.proves("T48")
def test_more_commands_than_are_looked_at_are_not_understood() -> None:
    assert len(argvs(";".join(["ls"] * MAX_COMMANDS))) == MAX_COMMANDS
    assert "more than" in reason(";".join(["ls"] * MAX_COMMANDS) + ";rm x")
    assert "more than" in reason("|".join(["ls"] * (MAX_COMMANDS + 1)))


@pytest.mark.proves("T48")
def test_deep_nesting_is_not_understood() -> None:
    assert argvs("( " * MAX_DEPTH + "ls" + " )" * MAX_DEPTH)
    assert "deep" in reason("( " * (MAX_DEPTH + 1) + "ls" + " )" * (MAX_DEPTH + 1))
    assert reason("( " * 500 + "ls" + " )" * 500)


def test_errors_too_go_through_the_pipe_after_own_redirections() -> None:
    first = next(simple_commands(understood("ls 2>/dev/null |& wc")))
    assert isinstance(first, SimpleCommand)
    assert [redirection.operator for redirection in first.redirections] == [">", ">&"]
    assert isinstance(first.redirections[0], Redirection)
