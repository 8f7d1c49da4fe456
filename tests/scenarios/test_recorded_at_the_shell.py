"""A person answers on the terminal while it is recorded; `shard run` plays the answers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.fakes.terminal import Terminal
from tests.scenarios.command_line import MODELS, SHARD, Person, PersonHere, one_line

pytestmark = pytest.mark.proves("E04", "B12")
PROMPT = "go @@shell echo x>>MARK @@times 2 @@"
PLAY = ("run", "--model", "replay:run.jsonl")


@pytest.fixture
def recorded(person: Person) -> Person:
    """The first of two equal questions was allowed, the second denied with a note."""
    record = [*SHARD, "run", "--model", MODELS[0], "--record", "run.jsonl", PROMPT]
    terminal = Terminal(record, cwd=person.project, env=person.environ)
    try:
        terminal.see(b"\n> ")
        terminal.type(b"y\n")
        terminal.see(b"\n> ", times=2)
        terminal.type(b"n not twice\n")
        assert terminal.end() == 0
    finally:
        terminal.close()
    assert person.lines() == ["x"]
    (person.project / "MARK").unlink()
    return person


def drop_approvals(file: Path) -> None:
    lines = file.read_text(encoding="utf-8").split("\n")
    kept = [line for line in lines if '"type": "approval"' not in line]
    assert len(lines) - len(kept) == 2
    file.write_text("\n".join(kept), encoding="utf-8")


def test_it_plays_without_and_with_a_terminal_and_nobody_is_asked(recorded: Person) -> None:
    for options in ((), ("--ask", "recorded")):
        ended = recorded.shard(*PLAY, *options, PROMPT)
        assert (ended.code, ended.err) == (0, "")
        assert recorded.lines() == ["x"]
        (recorded.project / "MARK").unlink()
    terminal = Terminal([*SHARD, *PLAY, PROMPT], cwd=recorded.project, env=recorded.environ)
    try:
        assert terminal.end() == 0
    finally:
        terminal.close()
    assert b"\n> " not in terminal.seen
    assert recorded.lines() == ["x"]


def test_on_a_terminal_a_person_may_still_answer_anew(recorded: Person) -> None:
    play = [*SHARD, *PLAY, "--ask", "inline", PROMPT]
    terminal = Terminal(play, cwd=recorded.project, env=recorded.environ)
    try:
        terminal.see(b"\n> ")
        terminal.type(b"n\n")
        assert terminal.end() == 1
    finally:
        terminal.close()
    assert b"has no answer to this request" in terminal.seen
    assert recorded.lines() == []


def test_a_question_that_was_not_answered_ends_with_3_and_names_the_rule(
    recorded: Person,
) -> None:
    drop_approvals(recorded.project / "run.jsonl")
    ended = recorded.shard(*PLAY, PROMPT)
    assert ended.code == 3
    assert "The cassette holds no answer to this question" in ended.err
    assert '"tool": "bash"' in ended.err.partition("would allow it: ")[2]
    assert recorded.lines() == []


def test_recording_a_replay_gives_the_same_file(recorded: Person) -> None:
    assert recorded.shard(*PLAY, "--record", "again.jsonl", PROMPT).code == 0
    first, again = (recorded.project / name for name in ("run.jsonl", "again.jsonl"))
    assert again.read_bytes() == first.read_bytes()
    lines = re.findall(r'^\{"type": "approval".*$', first.read_text(encoding="utf-8"), re.MULTILINE)
    call = '{"type": "approval", "tool": "bash", "arguments": {"command": "echo x>>MARK"}'
    assert lines == [
        f'{call}, "decision": "allow"}}',
        f'{call}, "decision": "deny", "note": "not twice"}}',
    ]


@pytest.mark.parametrize(
    ("options", "code", "told"),
    [
        (("--model", "replay:none.jsonl"), 1, "none.jsonl cannot be read: No such file"),
        (("--model", MODELS[0], "--ask", "recorded"), 2, "plays none. Choose a model replay:FILE"),
        (("--model", "replay:a", "--record", "./a"), 2, "is the one that is played"),
    ],
)
def test_what_cannot_be_played_is_told_and_leaves_no_session(
    options: tuple[str, ...], code: int, told: str, person_here: PersonHere
) -> None:
    ended = person_here.shard("run", *options, "hello")
    assert (ended.code, ended.out) == (code, "")
    assert told in one_line(ended.err)
    assert not person_here.state.exists()
