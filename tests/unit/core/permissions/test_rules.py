from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shard_jupyter.core.permissions.rules import (
    PathNames,
    Subject,
    matches,
    translate_path_glob,
)
from shard_jupyter.types.decisions import CommandPattern, Rule
from tests.shell_readings import bash
from tests.unit.core.permissions.ways_to_run import WAYS_TO_RUN_GIT

pytestmark = pytest.mark.proves("A06")


def command_rule(effect: str, program: str, *args: str, exact: bool = False) -> Rule:
    """Without `args` any arguments match, unless it is `exact`."""
    command = CommandPattern(program=program, args=args if args or exact else None)
    return Rule(effect=effect, tool="bash", command=command)


def path(given: str, inside: str | None = None) -> Subject:
    """A file of the workspace /w, unless `inside` is None."""
    real = given if inside is None else f"/w/{inside}"
    return Subject(tool="write", paths=(PathNames(real, inside, (given,)),), cwd="/w")


@pytest.mark.parametrize("command", WAYS_TO_RUN_GIT)
def test_a_deny_rule_takes_the_program_wherever_and_however_it_stands(command: str) -> None:
    assert matches(command_rule("deny", "git"), bash(command))
    assert matches(command_rule("deny", "git", "push", "**"), bash(command))
    assert matches(command_rule("ask", "git", "push"), bash(command))


@pytest.mark.parametrize(
    "command",
    [
        "grep git notes.txt",
        "echo git push",
        "cat a; echo 'git push' && ls | wc -l",
        "[ -f git ] && ls",
        "pytest -q tests",
        "python -m pytest",
        "$VENV/bin/python -m pytest",
        'for x in a b; do echo "$x"; done',
        "echo $HOME",
        "make test 2>&1 | tail -5",
    ],
)
def test_a_deny_rule_leaves_alone_what_plainly_does_not_run_the_program(command: str) -> None:
    assert not matches(command_rule("deny", "git"), bash(command))


def test_a_deny_rule_for_a_sub_command_leaves_the_others_alone() -> None:
    rule = command_rule("deny", "git", "push", "**")
    assert not matches(rule, bash("cd x && git status"))
    assert not matches(rule, bash("git log -p"))
    assert not matches(rule, bash("git diff --stat HEAD~1 HEAD~2"))
    for home in ("git ~", "git ~x", "A=~ git ~/push", "git a=~", "git x:~"):
        assert matches(rule, bash(home)), home


@pytest.mark.parametrize(
    ("program", "args", "command"),
    [
        ("ls", (), "./ls"),
        ("ls", (), "/tmp/ls"),
        ("ls", (), "bin/ls"),
        ("l*", (), "l/../../evil"),
        ("*", (), "./evil"),
        ("./scripts/*", (), "./scripts/../../evil"),
        ("/usr/bin/*", (), "/usr/bin/../../evil"),
        ("/usr/bin/*", (), "/usr/bin/a/b"),
        ("cat", ("src/*",), "cat src/../../etc/passwd"),
        ("cat", ("src/*",), "cat src/a/b"),
        ("cat", ("./*",), "cat ./../x"),
        ("ls", (), "LS"),
        ("ls", (), "ls x"),
        ("ls", ("-l",), "ls -L"),
    ],
)
def test_an_allow_rule_is_taken_by_its_letter(program, args, command) -> None:
    assert not matches(command_rule("allow", program, *args, exact=True), bash(command))


@pytest.mark.parametrize(
    ("args", "command", "hit"),
    [
        (("status",), "git status", True),
        (("status",), "git status -s", False),
        (("status", "**"), "git status -s x", True),
        (("status", "*"), "git status -s", True),
        (("log", "--oneline"), "git log --oneline", True),
        (("log",), "git", False),
    ],
)
def test_argument_globs_match_word_by_word(args, command, hit) -> None:
    assert matches(command_rule("allow", "git", *args), bash(command)) is hit


def test_an_allow_rule_for_a_path_needs_every_path_and_no_shell() -> None:
    rule = Rule(effect="allow", tool="*", path="src/**")
    assert matches(rule, path("./src/a.py", "src/a.py"))
    both = (*path("src/a.py", "src/a.py").paths, *path("secret", "secret").paths)
    assert not matches(rule, Subject(tool="write", paths=both))
    assert not matches(rule, bash("cat src/a.py"))
    assert not matches(rule, Subject(tool="write"))


def test_an_allow_rule_goes_by_the_real_path_alone() -> None:
    rule = Rule(effect="allow", tool="*", path="src/**")
    assert not matches(rule, path("src/link", "elsewhere"))
    assert not matches(rule, path("src/link"))
    assert not matches(rule, path("src/A.py", "SRC/A.py"))
    assert matches(rule, path("link", "src/a.py"))


def test_a_deny_rule_for_a_path_takes_any_name_of_any_path() -> None:
    rule = Rule(effect="deny", tool="*", path="secrets/**")
    assert matches(rule, path("link.txt", "secrets/key"))
    assert matches(rule, path("secrets/link", "elsewhere"))
    assert matches(rule, path("x/../Secrets//key", "elsewhere"))
    assert matches(rule, path("secrets", "secrets"))
    assert not matches(rule, path("src/a.py", "src/a.py"))
    assert not matches(rule, path("secrets-of-trade/a.py", "secrets-of-trade/a.py"))


@pytest.mark.parametrize("given", ["/home/me/.env", "../.env", "a/.env", ".env", "/.env", ".ENV"])
def test_a_deny_rule_for_any_depth_means_every_place(given: str) -> None:
    assert matches(Rule(effect="deny", tool="*", path="**/.env"), path(given))


@pytest.mark.parametrize(
    "command",
    [
        "cat ./secrets/key | head",
        "cat secrets//key",
        "cat /w/secrets/key",
        "cat x/../secrets/key",
        'cat "sec"rets/key',
        "cat sec\\rets/key",
        "cat <secrets/key",
        "cat a;cat secrets/key",
        "cd secrets && cat key",
        "python -c 'open(\"secrets/key\")'",
        "tar --file=secrets/key",
        "echo $(cat secrets/key)",
    ],
)
def test_a_deny_rule_for_a_path_finds_it_in_a_command(command: str) -> None:
    rule = Rule(effect="deny", tool="*", path="secrets/**")
    assert matches(rule, Subject(tool="bash", command=command, cwd="/w"))
    assert not matches(
        rule,
        Subject(
            tool="bash", command=command.replace("secrets", "src").replace("sec", "s"), cwd="/w"
        ),
    )


@pytest.mark.parametrize(
    ("glob", "name", "hit"),
    [
        ("*.py", "a.py", True),
        ("*.py", "d/a.py", False),
        ("**/*.py", "a.py", True),
        ("**/*.py", "d/e/a.py", True),
        ("src/", "src/x/y", True),
        ("a?c", "abc", True),
        ("a?c", "a/c", False),
        ("[x]", "[x]", True),
    ],
)
def test_path_globs_keep_to_their_parts(glob, name, hit) -> None:
    assert bool(translate_path_glob(glob).match(name)) is hit


@given(st.text(alphabet="ab*?/.[]\n", max_size=12), st.text(max_size=12))
def test_any_glob_compiles_and_matches_in_bounded_time(glob: str, name: str) -> None:
    translate_path_glob(glob).match(name)
