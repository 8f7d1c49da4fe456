"""`shard rules` as a person, an admin or a script uses it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import DATA
from tests.fakes.shell_workspace import make_workspace
from tests.scenarios.command_line import Ended, Person, PersonHere, one_line

pytestmark = [pytest.mark.proves("A06"), pytest.mark.timeout(90)]

DENY = {"effect": "deny", "tool": "bash", "command": {"program": "git", "args": ["push", "**"]}}
ASK = {"effect": "ask", "tool": "*", "path": "docs/**", "reason": "the team reads it"}
ALLOW = {"effect": "allow", "tool": "bash", "command": {"program": "npm", "args": ["test"]}}
ALLOW_ALL = {"effect": "allow", "tool": "*"}


def put(folder: Path, *rules: Any, name: str = "a.json") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text(json.dumps({"rules": list(rules)}), encoding="utf-8")
    return file


def own(person: Person, *rules: Any) -> Path:
    return put(person.state / "rules", *rules)


def of_project(person: Person, *rules: Any) -> Path:
    return put(person.project / ".shard/rules", *rules)


def check(person: Person, *lines: Any, options: tuple[str, ...] = ()) -> tuple[Ended, list[Any]]:
    data = b"".join(
        line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in lines
    )
    ended = person.shard("rules", "check", "--jsonl", "-", *options, stdin=data)
    return ended, [json.loads(line) for line in ended.out.split("\n")[:-1]]


def explain(person: Person, *words: str) -> dict[str, Any]:
    ended = person.shard("rules", "explain", "--json", *words)
    assert ended.code == 0, ended.err
    found: dict[str, Any] = json.loads(ended.out)
    return found


def test_nothing_is_listed_where_there_is_nothing(person_here: PersonHere) -> None:
    assert json.loads(person_here.shard("rules", "list", "--json").out) == []
    assert "There are no rules" in person_here.shard("rules", "list").err


@pytest.mark.proves("T55", "T62")
def test_the_list_says_what_counts_where_it_stands_and_why_not(person: Person) -> None:
    file, mine = of_project(person, ALLOW, DENY), own(person, ASK)
    person.configure(permissions={"rules": [ALLOW]})
    ended = person.shard("rules", "list")
    assert (ended.code, ended.out.count("\n")) == (0, 5)
    assert "not trusted in this run" in ended.out
    assert "An allow rule does not count" in ended.err
    rows = json.loads(person.shard("rules", "list", "--json").out)
    told = [(row["effect"], row["source"], row["file"], row["counts"]) for row in rows]
    assert told == [
        ("allow", "project", str(file), False),
        ("deny", "project", str(file), True),
        ("ask", "user", str(mine), True),
        ("allow", "user", str(person.root / ".config/shard/config.json"), True),
    ]
    trusted = json.loads(person.shard("rules", "list", "--json", "--trust-project").out)
    assert [row["counts"] for row in trusted] == [True] * 4


def test_the_list_is_of_the_folder_that_is_named(person: Person) -> None:
    of_project(person, DENY)
    other = person.root / "other"
    other.mkdir()
    rows = person.shard("rules", "list", "--json", "--cwd", str(other)).out
    assert json.loads(rows) == []
    assert person.shard("rules", "list", "--cwd", "nowhere").code == 2


def test_explain_says_which_rule_decides_and_what_would_allow_it(person: Person) -> None:
    file = of_project(person, DENY)
    own(person, ASK, ALLOW)
    denied = person.shard("rules", "explain", "cd x && git push origin")
    assert denied.code == 0
    assert denied.out.startswith("deny: it does not run, whatever anybody says")
    assert f"the rule is in: {file}" in denied.out
    allowed = explain(person, "npm test")
    assert (allowed["decision"], allowed["rule"]["effect"]) == ("allow", "allow")
    asked = explain(person, "cargo build")
    assert (asked["decision"], asked["rule"]) == ("ask", None)
    assert asked["would_allow"]["command"] == {"program": "cargo", "args": ["build"]}
    assert "a rule that would allow it:" in person.shard("rules", "explain", "cargo build").out


def test_what_would_allow_it_does_so_once_it_is_in_a_file(person: Person) -> None:
    for words in (("cargo", "build --release"), ("make", "all"), ("touch", "a[1].txt")):
        command = " ".join(words)
        wanted = explain(person, command)["would_allow"]
        if wanted is not None:
            own(person, {key: value for key, value in wanted.items() if key != "source"})
            assert explain(person, command)["decision"] == "allow"


def test_explain_knows_paths_and_modes(person: Person) -> None:
    own(person, ASK)
    assert explain(person, "--tool", "read", "docs/a.md")["rule"]["reason"] == ASK["reason"]
    assert explain(person, "--tool", "read", "a.md")["decision"] == "allow"
    assert explain(person, "--tool", "write", "a.md")["decision"] == "ask"
    vetoed = explain(person, "--tool", "write", "--mode", "plan", "a.md")
    assert (vetoed["decision"], vetoed["rule"]) == ("deny", None)
    assert "plan mode" in vetoed["reason"]
    ended = person.shard("rules", "explain", "--mode", "nonsense", "ls")
    assert ended.code != 0
    one_line(ended.err)


@pytest.mark.proves("H4a.04")
def test_deny_beats_ask_beats_allow_in_every_order_of_files_and_rules(
    person_here: PersonHere,
) -> None:
    person = person_here
    everything = {"tool": "bash", "command": {"program": "npm", "args": ["test"]}}
    kinds = ("allow", "ask", "deny")
    for first in kinds:
        for second in kinds:
            own(person, {"effect": first, **everything})
            put(person.state / "rules", {"effect": second, **everything}, name="b.json")
            together = explain(person, "npm test")["decision"]
            (person.state / "rules/b.json").unlink()
            own(person, {"effect": first, **everything}, {"effect": second, **everything})
            assert (
                together
                == explain(person, "npm test")["decision"]
                == max(first, second, key=kinds.index)
            )


def test_check_answers_line_for_line(person: Person) -> None:
    own(person, DENY, ALLOW, {"effect": "deny", "tool": "read", "path": "secret/**"})
    (person.project / "a.py").touch()
    ended, found = check(
        person,
        {"id": "1", "cmd": "npm test", "more": [1]},
        {"id": "2", "cmd": "git push"},
        {"id": 3, "cmd": "cargo build"},
        {"id": "4", "path": "a.py", "op": "read"},
        {"id": "5", "path": "not/there", "op": "read"},
        {"id": "6", "path": "not/there", "op": "write"},
        {"id": "7", "path": "/etc/passwd", "op": "read"},
        {"id": "8", "path": "secret/not-there", "op": "read"},
        {"id": "9", "path": "~/x", "op": "read"},
        {"id": "10", "path": "", "op": "write"},
    )
    assert (ended.code, ended.err) == (0, "")
    assert all(set(one) == {"id", "decision", "rule", "reason"} for one in found)
    assert [(one["id"], one["decision"]) for one in found] == [
        ("1", "allow"), ("2", "deny"), (3, "ask"), ("4", "allow"), ("5", "allow"), ("6", "ask"),
        ("7", "ask"), ("8", "deny"), ("9", "deny"), ("10", "deny"),
    ]  # fmt: skip
    rules = {one["id"]: one["rule"] for one in found if one["rule"]}
    assert set(rules) == {"1", "2", "8"}
    assert rules["2"] == {**DENY, "source": "user"}
    assert all(one["reason"] for one in found)


def test_check_survives_every_line(person: Person) -> None:
    """A bad line is named on stderr and in the exit code; the others are judged all the same."""
    huge = b'{"id": "huge", "cmd": "ls ' + b"a" * (8 << 20) + b'"}\n'
    deep = b'{"id": "deep", "cmd": ' + b"[" * 100_000 + b"\n"
    long_number = b'{"id": ' + b"9" * 5000 + b', "cmd": "ls"}\n'
    ended, found = check(
        person,
        {"id": "\ud800", "cmd": "\ud800"},
        {"id": "nul", "cmd": "ls\0"},
        {"id": "nul path", "path": "a\0b", "op": "read"},
        {"id": "half", "path": "\udcff", "op": "read"},
        {"id": "empty", "cmd": ""},
        b"\n   \n\r\n",
        huge,
        deep,
        long_number,
        b"not json\n",
        b"\xff\xfe\n",
        b'["id"]\n',
        b'{"cmd": "ls"}\n',
        b'{"id": true, "cmd": "ls"}\n',
        b'{"id": "x"}\n',
        b'{"id": "x", "cmd": "ls", "path": "a", "op": "read"}\n',
        b'{"id": "x", "path": "a", "op": "execute"}\n',
        b'{"id": "x", "cmd": ["ls"]}\n',
        '{"id": "line\u2028sep", "cmd": "a\u2028b\u0085c"}\n'.encode(),
        b'{"id": "last", "path": "a", "op": "read"}',
    )
    assert ended.code == 1
    assert ended.out.isascii()
    assert [one["id"] for one in found] == [
        "\ud800", "nul", "nul path", "half", "empty", "huge", "line\u2028sep", "last",
    ]  # fmt: skip
    assert [one["decision"] for one in found[:6]] == ["deny"] * 6
    assert found[-1]["decision"] == "allow"
    told = ended.err.split("\n")[:-1]
    assert len(told) == 11
    assert all(line.startswith("shard: line ") for line in told)


def test_check_of_a_file_that_is_none_is_refused(person: Person) -> None:
    for name in ("nothing.jsonl", "."):
        ended = person.shard("rules", "check", "--jsonl", name)
        assert ended.code == 2
        one_line(ended.err)


def test_check_ends_quietly_when_nobody_reads_on(person: Person) -> None:
    file = person.root / "many.jsonl"
    file.write_bytes(b'{"id": 1, "cmd": "ls"}\n' * 20_000)
    with person.started("rules", "check", "--jsonl", str(file)) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.readline()
        child.stdout.close()
        assert child.stderr.read() == b""
        child.wait(30)


def test_a_broken_file_of_the_person_is_told_and_nothing_is_judged(person: Person) -> None:
    own(person).write_text("[{", encoding="utf-8")
    for words in (("list",), ("explain", "ls"), ("check", "--jsonl", "-")):
        ended = person.shard("rules", *words, stdin=b'{"id": 1, "cmd": "ls"}\n')
        assert (ended.code, ended.out) == (1, "")
        assert "a.json is not valid JSON" in one_line(ended.err)


def test_a_broken_file_of_the_project_makes_every_call_ask(person: Person) -> None:
    own(person, ALLOW, ALLOW_ALL)
    of_project(person).write_text("[{", encoding="utf-8")
    for words in (("npm test",), ("ls",), ("--tool", "read", "a")):
        found = explain(person, *words)
        assert (found["decision"], found["would_allow"]) == ("ask", None)
        assert found["rule"]["source"] == "builtin"


def test_rules_of_an_admin_hold_before_those_of_the_person(person: Person) -> None:
    folder = person.root / "policy"
    put(folder, {**ALLOW, "effect": "deny"})
    own(person, ALLOW)
    assert explain(person, "npm test")["decision"] == "allow"
    person.environ["SHARD_POLICY"] = str(folder)
    found = explain(person, "npm test")
    assert (found["decision"], found["rule"]["source"]) == ("deny", "policy")
    person.environ["SHARD_POLICY"] = str(person.root / "gone")
    assert "SHARD_POLICY names no folder" in one_line(person.shard("rules", "list").err)


@pytest.mark.proves("T56")
def test_no_file_of_the_project_moves_state_rules_or_policy(person: Person) -> None:
    evil = person.project / "evil"
    put(evil / "rules", ALLOW_ALL)
    own(person, DENY)
    text = f"SHARD_HOME={evil}\nSHARD_POLICY={evil}/rules\nXDG_CONFIG_HOME={evil}\nHOME={evil}\n"
    for name in (".env", ".envrc", ".shard/.env"):
        file = person.project / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    rows = json.loads(person.shard("rules", "list", "--json", "--trust-project").out)
    assert [(row["effect"], row["source"]) for row in rows] == [("deny", "user")]


def judge_corpus(person: Person, corpus: str, workspace: Path) -> tuple[set[str], dict[str, Any]]:
    """Return the ids of what is allowed, and the rows."""
    text = (DATA / corpus).read_text(encoding="utf-8")
    if corpus == "bad_paths.jsonl":
        known = {"$WS": workspace, "$HOME": person.root, "$OUT": person.root}
        for name, folder in known.items():
            text = text.replace(name, str(folder))
    file = person.root / corpus
    file.write_text(text, encoding="utf-8")
    rows = {row["id"]: row for row in map(json.loads, text.split("\n")[:-1])}
    ended = person.shard("rules", "check", "--jsonl", str(file), "--cwd", str(workspace))
    assert (ended.code, ended.err) == (0, "")
    found = [json.loads(line) for line in ended.out.split("\n")[:-1]]
    assert [one["id"] for one in found] == list(rows)
    return {one["id"] for one in found if one["decision"] == "allow"}, rows


def test_no_unsafe_command_of_the_corpus_is_allowed_and_few_safe_ones_ask(person: Person) -> None:
    workspace = make_workspace(person.root)
    allowed, rows = judge_corpus(person, "bad_shell_commands.jsonl", workspace)
    safe = {name for name, row in rows.items() if row["safe_readonly"]}
    assert allowed - safe == set()
    assert len(safe - allowed) <= 0.02 * len(safe)


def test_no_unsafe_path_of_the_corpus_is_allowed_and_every_safe_read_is(person: Person) -> None:
    workspace = make_workspace(person.root)
    (workspace / "a.py").touch()
    (person.root / "secret").touch()
    (workspace / "link").unlink()
    links = {"link": "/etc/passwd", "dlink": "/tmp", "dangling": str(person.root / "gone"),
             "l2": "/etc/passwd", "l1": "l2", "inlink": "a.py", "swap": "/tmp"}  # fmt: skip
    for name, target in links.items():
        (workspace / name).symlink_to(target)
    (workspace / "hard").hardlink_to(person.root / "secret")
    os.mkfifo(workspace / "sock")
    allowed, rows = judge_corpus(person, "bad_paths.jsonl", workspace)
    safe = {name for name, row in rows.items() if row["allow"]}
    assert allowed - safe == set()
    # A write is asked in build mode, wherever it goes.
    assert {name for name in safe if rows[name]["op"] == "read"} - allowed == set()
