from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shard_jupyter.core.permissions.grantable import is_grantable, narrowest_rules, offer_rules
from shard_jupyter.core.permissions.grants import GrantTable
from shard_jupyter.core.permissions.rules import PathNames, Subject, matches
from shard_jupyter.types.decisions import CommandPattern, Grant, Rule
from tests.shell_readings import bash

pytestmark = pytest.mark.proves("A06")


def file(real: str, inside: str | None = None, given: str = "x") -> Subject:
    return Subject(tool="write", paths=(PathNames(real, inside, (given,)),))


@pytest.mark.parametrize(
    "command",
    [
        "python x.py", "python3.12 x.py", "pypy3 x", "bash x", "node x", "perl5.36 x", "awk x f",
        "git push", "git -c a=b status", "rm x", "pip3 install x", "uvx x", "npx x", "env ls",
        "xargs ls", "sudo ls", "time ls", "make", "cargo run", "curl x", "./run", "/bin/ls", "a | b",
        "ls $X", "ls *", "ls; pwd", "ls > x", "ls & ", "A=1 ls", "'' x", "", "chmod +x f", "kill 1",
    ],
)  # fmt: skip
def test_what_runs_fetches_destroys_or_was_not_understood_is_never_offered(command: str) -> None:
    if command != "time ls":  # to us a program of that name; to bash a word of its own
        assert offer_rules(bash(command)) == ()


@given(st.lists(st.text(alphabet="abc*?[] -.=", min_size=1, max_size=6), max_size=3))
def test_an_offered_rule_covers_the_command_and_nothing_else(words: list[str]) -> None:
    subject = bash("pytest " + " ".join(f"'{word}'" for word in words))
    for rule in offer_rules(subject):
        assert matches(rule, subject)
        assert not matches(rule, bash("pytest other thing more words here"))
        assert not matches(rule, bash("./pytest " + " ".join(f"'{word}'" for word in words)))


@given(st.text(alphabet="ab*?[]./ ", min_size=1, max_size=8), st.text(alphabet="ab/", max_size=4))
def test_an_offered_rule_covers_the_path_and_nothing_else(name: str, other: str) -> None:
    for rule in offer_rules(file(f"/w/{name}", name)):
        assert matches(rule, file(f"/w/{name}", name))
        if other != name:
            assert not matches(rule, file(f"/w/{other}", other))
            assert not matches(rule, file(f"/{name}", None))


def test_a_path_outside_is_offered_by_its_real_name() -> None:
    [rule] = offer_rules(file("/etc/x", None, given="link/../x"))
    assert rule.path == "/etc/x"


def test_a_call_of_several_paths_or_none_is_not_offered() -> None:
    one = PathNames("/w/a", "a")
    assert offer_rules(Subject(tool="write", paths=(one, one))) == ()
    assert offer_rules(Subject(tool="odd")) == ()


def test_the_narrowest_rules_are_named_also_where_no_person_is_offered_them() -> None:
    [rule] = narrowest_rules(bash("git push origin"))
    assert rule.command == CommandPattern(program="git", args=("push", "origin"))
    assert len(narrowest_rules(bash("git push | tee x; git push"))) == 2
    assert narrowest_rules(bash("git push > x")) == ()


def grant(rule: Rule, **more: object) -> Grant:
    fields = {"grant_id": "g", "rule": rule, "workspace": "/w", **more}
    return Grant.model_validate(fields)


LS = Rule(effect="allow", tool="bash", command=CommandPattern(program="ls", args=("-l",)))


def test_a_stored_grant_counts_in_its_folder_alone() -> None:
    assert GrantTable([grant(LS)], workspace="/w").find(bash("ls -l")) is not None
    other = GrantTable([grant(LS)], workspace="/other")
    assert other.find(bash("ls -l")) is None
    assert other.left_out == (
        'The grant "allow bash ls -l" does not count: it was given for another folder.',
    )


@pytest.mark.parametrize(
    "rule",
    [
        Rule(effect="deny", tool="bash", command=LS.command),
        Rule(effect="ask", tool="bash", command=LS.command),
        Rule(effect="allow", tool="*"),
        Rule(effect="allow", tool="bash"),
        Rule(effect="allow", tool="*", command=LS.command),
        Rule(effect="allow", tool="write", path="**"),
        Rule(effect="allow", tool="write", path="src/"),
        Rule(effect="allow", tool="bash", command=CommandPattern(program="*", args=())),
        Rule(effect="allow", tool="bash", command=CommandPattern(program="ls")),
        Rule(effect="allow", tool="bash", command=CommandPattern(program="ls", args=("**",))),
        Rule(effect="allow", tool="bash", command=CommandPattern(program="ls", args=("*",))),
        Rule(effect="allow", tool="bash", command=CommandPattern(program="python3", args=("x",))),
        Rule.model_validate({**LS.model_dump(), "only_on": "tuesday"}),
        Rule.model_validate(
            {"effect": "allow", "tool": "bash", "command": {"program": "ls", "args": [], "env": {}}}
        ),
    ],
)
def test_a_stored_grant_that_nobody_could_have_been_offered_is_left_out(rule: Rule) -> None:
    table = GrantTable([grant(rule)], workspace="/w")
    assert list(table) == []
    assert len(table.left_out) == 1


def test_a_grant_with_something_unknown_in_it_is_left_out() -> None:
    assert list(GrantTable([grant(LS, until="noon")], workspace="/w")) == []


def test_what_is_given_is_what_counts_after_it_was_stored() -> None:
    table = GrantTable(workspace="/w")
    given_now = table.give(LS, by="person", timestamp="now")
    stored = Grant.model_validate_json(given_now.model_dump_json())
    assert list(GrantTable([stored], workspace="/w")) == [given_now]
    assert is_grantable(LS)


def test_what_holds_for_the_session_is_listed_and_taken_back() -> None:
    table = GrantTable()
    kept = [table.give(rule, by="person", timestamp="now") for rule in (LS, LS, LS)]
    assert list(table.of_session()) == kept
    assert table.revoke("grant-none") == ()
    assert table.revoke(kept[1].grant_id) == (kept[1],)
    assert list(table) == [kept[0], kept[2]]
    assert list(table.revoke(None)) == [kept[0], kept[2]]
    assert list(table) == []
