"""A person's answer as a line: what stands in it, and that it is found again."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shard_jupyter.capabilities.cassettes.approvals import (
    approval_entry,
    approval_key,
    key_of_entry,
    read_approval,
)
from shard_jupyter.capabilities.cassettes.cassette import parse_cassette
from shard_jupyter.capabilities.cassettes.placeholders import Numbering, Placeholders
from shard_jupyter.contracts.provider import RecordedAnswer
from shard_jupyter.errors import ConfigError
from shard_jupyter.types.decisions import CommandPattern, Rule
from shard_jupyter.types.ids import new_id

pytestmark = pytest.mark.proves("E04")
SECRET = "correct-horse-battery"
HERE = Placeholders({"cwd": "/data/here", "home": "/home/ada"}, [SECRET])
THERE = Placeholders({"cwd": "/srv/there", "home": "/root"})
RULE = Rule(
    effect="allow",
    tool="bash",
    command=CommandPattern(program="ls", args=("/home/ada/x",)),
    source="run",
)


def test_a_line_holds_the_call_and_the_answer_and_nothing_else() -> None:
    answer = RecordedAnswer(decision="deny", note="not in /home/ada")
    assert approval_entry("bash", {"command": "ls /data/here"}, answer, HERE) == {
        "type": "approval",
        "tool": "bash",
        "arguments": {"command": "ls {cwd}"},
        "decision": "deny",
        "note": "not in {home}",
    }
    assert approval_entry("ls", {}, RecordedAnswer(decision="allow"), HERE) == {
        "type": "approval",
        "tool": "ls",
        "arguments": {},
        "decision": "allow",
    }


def test_a_rule_and_edited_arguments_are_told_as_they_hold() -> None:
    always = RecordedAnswer(decision="allow_always", rule=RULE)
    assert approval_entry("bash", {"command": "ls"}, always, HERE)["rule"] == {
        "effect": "allow",
        "tool": "bash",
        "command": {"program": "ls", "args": ["{home}/x"]},
        "source": "run",
    }
    edited = RecordedAnswer(decision="allow", arguments={"command": f"echo {SECRET}"})
    entry = approval_entry("bash", {"command": "ls"}, edited, HERE)
    assert entry["edited"] == {"command": "echo {secret}"}


def test_it_is_found_and_fits_in_another_folder() -> None:
    asked = {"command": f"ls /data/here {new_id('job')}"}
    answer = RecordedAnswer(decision="allow_always", rule=RULE, note="/home/ada")
    entry = json.loads(json.dumps(approval_entry("bash", asked, answer, HERE)))
    again = {"command": f"ls /srv/there {new_id('job')}"}
    numbering = Numbering()
    assert approval_key("bash", again, THERE, numbering) == key_of_entry(entry)
    played = read_approval(entry, THERE, numbering)
    assert played.note == "/root"
    assert played.rule is not None
    assert played.rule.command == CommandPattern(program="ls", args=("/root/x",))
    assert played.rule.source == "run"


def test_an_id_in_edited_arguments_is_that_of_the_call() -> None:
    first, second = new_id("job"), new_id("job")
    answer = RecordedAnswer(decision="allow", arguments={"job": first, "wait": True})
    entry = approval_entry("stop", {"job": first}, answer, HERE)
    assert first not in json.dumps(entry)
    numbering = Numbering()
    assert approval_key("stop", {"job": second}, THERE, numbering) == key_of_entry(entry)
    assert read_approval(entry, THERE, numbering).arguments == {"job": second, "wait": True}


@pytest.mark.parametrize(
    "other",
    [
        ("write", {"path": "a", "n": 1}),
        ("edit", {"path": "b", "n": 1}),
        ("edit", {"path": "a"}),
        ("edit", {"path": "a", "n": True}),
        ("edit", {"path": "a", "n": "1"}),
        ("edit", {"path": "a", "n": 1, "more": None}),
    ],
)
def test_another_call_is_another_key(other: tuple[str, dict[str, Any]]) -> None:
    key = approval_key("edit", {"n": 1, "path": "a"}, HERE, Numbering())
    assert key == approval_key("edit", {"path": "a", "n": 1}, HERE, Numbering())
    assert key != approval_key(*other, HERE, Numbering())
    assert key != approval_key("edit", {"path": "a", "n": 1}, HERE, Numbering(), recovered=True)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["/data/here", "{cwd}", "{{call-1}}", "/home/ada/x", SECRET]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@given(st.dictionaries(st.text(max_size=8), JSON, max_size=4))
def test_any_call_is_found_by_its_own_line_and_an_edit_comes_back(
    arguments: dict[str, Any],
) -> None:
    plain = Placeholders({"cwd": "/data/here", "home": "/home/ada"})
    answer = RecordedAnswer(decision="allow", arguments=arguments)
    line = json.dumps(approval_entry("t", arguments, answer, plain), ensure_ascii=False)
    numbering = Numbering()
    assert approval_key("t", arguments, plain, numbering) == key_of_entry(json.loads(line))
    assert read_approval(json.loads(line), plain, numbering).arguments == arguments


@pytest.mark.parametrize(
    "line",
    [
        {"tool": "bash", "decision": "allow"},
        {"arguments": {}, "decision": "allow"},
        {"tool": "bash", "arguments": {}},
        {"tool": "bash", "arguments": {}, "decision": "perhaps"},
        {"tool": "bash", "arguments": {}, "decision": "allow", "note": 3},
        {"tool": "bash", "arguments": {}, "decision": "allow", "edited": "rm"},
        {"tool": "bash", "arguments": {}, "decision": "allow_always", "rule": {"tool": "*"}},
    ],
)
def test_a_line_that_says_no_answer_is_refused_by_its_number(line: dict[str, Any]) -> None:
    lines = [{"type": "cassette", "version": 1}, {"type": "approval", **line}]
    with pytest.raises(ConfigError, match="line 2"):
        parse_cassette("\n".join(map(json.dumps, lines)).encode(), "run.jsonl")
