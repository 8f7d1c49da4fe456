"""What "always" may store for a command, what else that covers, and why there may be nothing."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shard_jupyter.core.permissions.grantable import (
    examples_covered,
    is_grantable,
    narrowest_rules,
    offer_rules,
    why_no_always,
)
from shard_jupyter.core.permissions.rules import PathNames, Subject, matches
from shard_jupyter.types.decisions import CommandPattern, Rule
from tests.shell_readings import bash

pytestmark = pytest.mark.proves("A06")


def offered(command: str) -> list[tuple[str, ...]]:
    rules = offer_rules(bash(command))
    return [(rule.command.program, *rule.command.args) for rule in rules if rule.command]


@pytest.mark.parametrize(
    ("command", "wider"),
    [
        ("pytest -q tests/unit/test_a.py", ("pytest", "-q", "tests/unit/**")),
        ("ruff check src/a.py src/b/c.py", ("ruff", "check", "src/**", "src/b/**")),
        ("mypy --strict ./src/a.py", None),
        ("pytest -q", None),
        ("pytest test_a.py", None),
        ("pytest --junit=out/x.xml", None),
        ("pytest /abs/tests/a.py", None),
        ("pytest ../tests/a.py", None),
        ("pytest tests/../../a.py", None),
        ("pytest .git/hooks/a", None),
        ("pytest tests/.hidden/a", None),
        ("pytest https://x/a", None),
        ("pytest user@host:dir/a", None),
        ("pytest 'te*ts/a.py'", None),
        ("cp src/a src/b", None),
        ("touch src/a", None),
        ("mkdir -p src/a", None),
        ("tee src/a", None),
    ],
)
def test_a_wider_rule_keeps_all_but_the_paths_below_a_folder(
    command: str, wider: tuple[str, ...] | None
) -> None:
    rules = offer_rules(bash(command))
    assert narrowest_rules(bash(command)) == rules[:1]
    assert offered(command)[1:] == ([wider] if wider else [])
    assert all(map(is_grantable, rules))


def test_a_wider_rule_covers_no_other_option_sub_command_or_place() -> None:
    [_, wider] = offer_rules(bash("ruff check -q src/core/a.py"))
    assert matches(wider, bash("ruff check -q src/core/x/b.py"))
    for command in (
        "ruff format -q src/core/a.py",
        "ruff check src/core/a.py",
        "ruff check -q --fix src/core/a.py",
        "ruff check -q src/a.py",
        "ruff check -q src/core",
        "ruff check -q src/core/a.py src/core/b.py",
        "ruff check -q src/core/../../a.py",
        "ruff check -q /w/src/core/a.py",
        "ruff check -q src/core/*.py",
        "ruff check -q src/core/a.py > x",
        "ruff check -q src/core/a.py; id",
        "./ruff check -q src/core/a.py",
    ):
        assert not matches(wider, bash(command)), command


NEVER = (
    "python x", "python3.12 -m pytest", "ipython x", "jupyter nbconvert x", "node x", "ruby x",
    "perl x", "R x", "java -jar x", "dotnet run", "pwsh x", "osascript x", "tclsh x", "guile x",
    "bash x", "zsh x", "sh x", "env pytest", "xargs pytest", "sudo pytest", "nice pytest",
    "nohup pytest", "timeout 5 pytest", "setsid pytest", "stdbuf -o0 pytest", "watch pytest",
    "find . -name x", "parallel pytest", "ssh host", "flock x pytest", "strace pytest", "busybox x",
    "eval x", "exec x", "command pytest", "source x", "git status", "git -c a=b log", "gh pr list",
    "git-lfs x", "make", "cmake x", "ninja", "just x", "gradle x", "mvn x", "bazel run x",
    "pip install x", "pip3 list", "uv run x", "pipx run x", "poetry install", "conda install x",
    "npm install", "npx x", "yarn add x", "pnpm add x", "cargo build", "go build", "gem install x",
    "apt-get install x", "apt install x", "dnf install x", "brew install x", "nix-shell x",
    "rm x", "rmdir x", "unlink x", "shred x", "dd if=x", "truncate x", "mv a b", "chmod 644 x",
    "chown a x", "tar xf x", "unzip x", "zip x y", "gzip x", "curl x", "wget x", "nc x", "scp a b",
    "rsync a b", "ping x", "dig x", "docker ps", "docker-compose up", "podman ps", "kubectl get x",
    "helm list", "terraform plan", "ansible-playbook x", "aws s3", "gcloud x", "az x", "vagrant up",
    "psql x", "mysql x", "sqlite3 x", "systemctl status x", "crontab -l", "at now", "kill 1",
    "vim x", "less x", "man x", "emacs x", "ed x", "patch x", "sed -n 1p x", "awk x y", "gdb x",
    "mount x", "screen x", "tmux x", "xdg-open x", "open x", "test -v x", "[ -v x ]", "printf -v x",
    "declare x", "export A", "read x", "cd x", "pushd x", "set -e", "alias a", "hash x", "wait",
    "octave x", "zig run x", "groovy x", "fakeroot x", "xvfb-run pytest", "direnv exec . x",
    "asdf exec x", "pyenv exec x", "rye run x", "pixi run x", "entr x", "nodemon x", "bats x",
    "./run", "/usr/bin/pytest", "bin/pytest", "tests/run.sh",
)  # fmt: skip


@pytest.mark.parametrize("command", NEVER)
def test_what_runs_code_fetches_installs_deletes_or_wraps_is_never_offered(command: str) -> None:
    assert offer_rules(bash(command)) == ()
    assert why_no_always(bash(command))


@pytest.mark.parametrize("word", ["a[$(x)]", "`x`", "$HOME", "${x}"])
def test_text_that_a_shell_could_evaluate_is_never_offered(word: str) -> None:
    subject = bash(f"mytool '{word}'")
    assert offer_rules(subject) == ()
    assert why_no_always(subject) == "a shell could take one of its arguments for code"


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("echo $(x)", "the command was not understood"),
        ("mytool > out", "it writes to a file by a redirection"),
        ("mytool *.py", "a pattern in it stands for names of files, which change"),
        ("one; two", "it is more than one command"),
        ("rm x", "rm runs, fetches or destroys what its arguments name"),
        ("./run", "./run is a program that is named by its path"),
        ("mytool x", ""),
    ],
)
def test_it_is_said_why_there_is_no_always(command: str, why: str) -> None:
    assert why_no_always(bash(command)) == why


def test_examples_are_covered_and_no_example_is_needed_for_an_exact_rule() -> None:
    subject = bash("pytest -q tests/unit/test_a.py src/b")
    exact, wider = offer_rules(subject)
    assert examples_covered(exact, subject) == ()
    examples = examples_covered(wider, subject)
    assert examples == (
        "pytest -q tests/unit/other.py src/other.py",
        "pytest -q tests/unit/any/folder/other.py src/any/folder/other.py",
    )
    for call in examples:
        assert matches(wider, bash(call))
        assert not matches(exact, bash(call))
    write = Subject(tool="write", paths=(PathNames("/w/a", "a", ("a",)),))
    [rule] = offer_rules(write)
    assert examples_covered(rule, write) == ("write a with any other content",)


WORDS = st.text(alphabet="ab-/.*?[] $=:~", min_size=1, max_size=9)


@given(st.lists(WORDS, min_size=1, max_size=3), st.lists(WORDS, max_size=3))
@example(["./"], [":"])
@example(["a/"], ["a/b"])
def test_whatever_is_offered_keeps_to_the_program_and_below_the_folders(
    words: list[str], others: list[str]
) -> None:
    subject = bash(" ".join(["mytool", *(f"'{word}'" for word in words)]))
    other = bash(" ".join(["mytool", *(f"'{word}'" for word in others)]))
    for rule in offer_rules(subject):
        assert matches(rule, subject)
        if matches(rule, other):
            assert len(others) == len(words)
            for word, given_word in zip(others, words, strict=True):
                assert word == given_word or word.startswith(given_word.rpartition("/")[0] + "/")
                assert word == given_word or ".." not in word.split("/")
                assert word == given_word or word[0] not in "-/~"


@pytest.mark.parametrize(
    "args",
    [("**",), ("*",), ("/**",), ("./**",), ("../x/**",), ("a/../b/**",), ("-x/**",), ("a*/**",),
     (".git/**",), ("a/*",), ("a/**/b",), ("$x/**",), ("a:b/**",)],
)  # fmt: skip
def test_a_stored_rule_that_is_wider_than_what_is_offered_does_not_count(
    args: tuple[str, ...],
) -> None:
    command = CommandPattern(program="mytool", args=args)
    assert not is_grantable(Rule(effect="allow", tool="bash", command=command))
