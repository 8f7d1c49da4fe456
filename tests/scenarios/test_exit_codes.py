"""The exit codes of `shard run`, each by a real process; signals, pipes and JSON as a caller has them."""

from __future__ import annotations

import signal

import psutil
import pytest

from shard_jupyter.types.events import MessageDelta, ToolCallEvent, TurnEnd
from tests.fakes.model_server import MockModel
from tests.scenarios.command_line import MODELS, Person, one_line, read_entries, read_events

pytestmark = pytest.mark.proves("B12")
CLOSING = "Done. Grüße, 世界 🙂"


def test_0_with_the_closing_text_alone_on_standard_output(person: Person) -> None:
    ended = person.run("go @@shell echo x>>MARK @@")
    assert (ended.code, ended.told) == (0, "")
    assert ended.out == f"{CLOSING} — the mock model has f\n"
    assert person.lines() == ["x"]


def test_1_when_the_server_refuses(person: Person) -> None:
    ended = person.run("go @@status 401 @@", model=MODELS[2])
    assert (ended.code, ended.out) == (1, "")
    assert "Check the API key" in one_line(ended.told)


@pytest.mark.parametrize("stdin", [b"na\xefve", b"half \xed\xa0\xbd pair"])
def test_2_when_standard_input_is_no_text(stdin: bytes, person: Person) -> None:
    ended = person.shard("run", "--model", MODELS[0], "-", stdin=stdin)
    assert (ended.code, ended.out) == (2, "")
    assert "not UTF-8 at position" in one_line(ended.err)
    assert not person.state.exists()


def test_2_when_an_argument_is_no_text(person: Person) -> None:
    ended = person.shard("run", "--model", MODELS[0], b"half \xed\xa0\xbd pair")
    assert ended.code == 2
    assert "not UTF-8 at position 5" in one_line(ended.err)


def test_3_whatever_the_model_says_after_a_denial(person: Person) -> None:
    ended = person.shard("run", "--model", MODELS[0], "go @@shell touch MARK @@")
    assert ended.code == 3
    assert not (person.project / "MARK").exists()
    assert CLOSING in ended.out
    assert (
        "Denied: bash: Nobody could be asked, and no rule allows it, and touch writes" in ended.err
    )


def test_4_when_the_budget_is_used_up(person: Person) -> None:
    """The mock counts 120 tokens a call."""
    ended = person.run("go @@shell echo x>>MARK @@times 30 @@", "--budget", "1k")
    assert (ended.code, len(person.lines())) == (4, 9)
    assert "1080 were used. Raise --budget" in one_line(ended.told)


@pytest.mark.proves("A03")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_130_and_the_running_command_is_gone(number: signal.Signals, person: Person) -> None:
    command = "sleep 78.25 & echo on; wait"
    with person.started(
        "run", "--json", "--ask", "yes", "--model", MODELS[0], f"go @@shell {command} @@"
    ) as child:
        assert child.stdout is not None
        seen = b""
        while b'"tool_progress"' not in seen:
            line = child.stdout.readline()
            assert line, seen
            seen += line
        child.send_signal(number)
        rest, err = child.communicate(timeout=20)
    assert child.returncode == 130
    assert err.endswith(b"shard: The turn ended as interrupted.\n")
    end = next(e for e in read_events((seen + rest).decode()) if isinstance(e, TurnEnd))
    assert end.outcome == "interrupted"
    assert not is_running("sleep 78.25")
    results = [e for e in read_entries(person.sessions()[0]) if e["type"] == "tool_result"]
    assert [entry["status"] for entry in results] == ["interrupted"]


def test_130_while_the_model_is_silent(person: Person, mock_model: MockModel) -> None:
    with person.started("run", "--model", MODELS[2], "go @@quirk hang_start @@") as child:
        mock_model.ask("/__hung")
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=20)
    assert (child.returncode, err) == (130, b"shard: The turn ended as interrupted.\n")


@pytest.mark.proves("A03")
def test_4_when_the_time_is_up_and_nothing_of_the_command_is_left(person: Person) -> None:
    ended = person.run("go @@shell setsid sleep 77.5 & sleep 77.5 @@", "--timeout", "2")
    assert ended.code == 4
    assert "stopped after 2 s. Raise --timeout" in one_line(ended.told)
    assert not is_running("sleep 77.5")


def is_running(command: str) -> bool:
    found = (process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"]))
    return any(" ".join(argv) == command for argv in found)


@pytest.mark.proves("A02", "B03")
def test_json_is_one_event_of_the_protocol_a_line_and_nothing_else(person: Person) -> None:
    prompt = "go @@shell echo x @@quirk u2028 @@quirk reasoning @@"
    ended = person.run(prompt, "--json", model=MODELS[1])
    assert (ended.code, ended.told) == (0, "")
    events = read_events(ended.out)
    types = [event.type for event in events]
    assert types[0] == "turn_start"
    assert {"message_delta", "tool_call", "tool_result", "usage", "turn_end"} <= set(types)
    called = next(event for event in events if isinstance(event, ToolCallEvent))
    assert "\u2028" in called.arguments["command"]
    channels = {event.channel for event in events if isinstance(event, MessageDelta)}
    assert channels == {"text", "thinking", "tool_call"}


def test_json_says_at_its_end_what_the_exit_code_says(person: Person) -> None:
    ended = person.shard("run", "--json", "--model", MODELS[0], "go @@shell touch MARK @@")
    end = next(event for event in read_events(ended.out) if isinstance(event, TurnEnd))
    assert (ended.code, [denial.tool for denial in end.denials]) == (3, ["bash"])


def test_a_reader_that_goes_away_leaves_no_traceback(person: Person) -> None:
    with person.started("run", "--json", "--model", MODELS[0], "go @@text 200000 @@") as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.readline()
        child.stdout.close()
        assert child.wait(30) in (1, 130)
        assert b"Traceback" not in child.stderr.read()


@pytest.mark.proves("A11")
def test_a_session_that_is_in_use_is_refused_and_not_disturbed(
    person: Person, mock_model: MockModel
) -> None:
    person.run("hello")
    session = person.sessions()[0].parent.name
    with person.started(
        "run", "--model", MODELS[0], "--session", session, "go @@quirk hang_start @@"
    ) as child:
        mock_model.ask("/__hung")
        ended = person.run("me too", "--session", session)
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=20)
    assert ended.code == 1
    assert "Close it there first" in one_line(ended.told)
    assert child.returncode == 130
    ends = [e for e in read_entries(person.sessions()[0]) if e["type"] == "turn_end"]
    assert [entry["outcome"] for entry in ends] == ["completed", "interrupted"]
