"""Streams that are closed, folders that are gone, terminals that go away: no traceback, no survivor."""

from __future__ import annotations

import shlex
import signal
import subprocess
from pathlib import Path

import psutil
import pytest

from tests.fakes.model_server import MockModel
from tests.fakes.terminal import Terminal
from tests.scenarios.command_line import (
    MODELS,
    PATIENCE_SECONDS,
    SHARD,
    Ended,
    Person,
    one_line,
    read_entries,
)

pytestmark = pytest.mark.proves("B12")


def run_by_shell(person: Person, script: str, *arguments: str) -> Ended:
    """Run a line of bash in which `"$@"` is the command."""
    done = subprocess.run(
        ["bash", "-c", script, "bash", *SHARD, *arguments],
        env=person.environ,
        cwd=person.project,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_standard_stream_that_is_closed_is_no_trouble(closed: str, person: Person) -> None:
    prompt = "go @@shell echo x>>MARK @@"
    ended = run_by_shell(
        person, f'"$@" {closed}', "run", "--ask", "yes", "--model", MODELS[0], prompt
    )
    assert (ended.code, ended.told) == (0, "")
    assert person.lines() == ["x"]
    # Nothing that was printed got into a file that took the number of the closed stream.
    log = person.sessions()[0].read_bytes()
    assert b"shard: --ask yes" not in log
    assert read_entries(person.sessions()[0])[-1]["outcome"] == "completed"


def test_a_prompt_from_a_closed_stream_is_an_empty_one(person: Person) -> None:
    ended = run_by_shell(person, '"$@" <&-', "run", "--model", MODELS[0], "-")
    assert ended.code == 2
    assert "The prompt is empty" in one_line(ended.err)


@pytest.mark.parametrize(
    "command",
    [("run", "x"), ("doctor",), ("models",), ("config", "show"), ("run", "--continue", "x")],
)
def test_a_folder_that_was_removed_is_told(command: tuple[str, ...], person: Person) -> None:
    ended = run_by_shell(person, 'mkdir gone; cd gone; rmdir ../gone; "$@"', *command)
    assert (ended.code, ended.out) == (2, "")
    assert "The current folder does not exist any more." in one_line(ended.err)


@pytest.mark.parametrize("home", ["/etc/passwd", "/proc/none"])
@pytest.mark.parametrize(
    "command", [("run", "--model", "openai:mock", "x"), ("run", "--continue", "x")]
)
def test_a_state_folder_that_cannot_be_used_is_told(
    home: str, command: tuple[str, ...], person: Person, mock_model: MockModel
) -> None:
    person.environ["SHARD_HOME"] = home
    ended = person.shard(*command)
    assert ended.code in (1, 2)
    assert "shard " in one_line(ended.err)
    assert mock_model.ask("/__bodies") == [], "no model was asked in vain"


def test_text_of_arguments_is_understood_in_a_locale_without_it(
    person: Person, mock_model: MockModel
) -> None:
    person.environ |= {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    ended = person.run("grüße 🙂")
    assert ended.code == 0
    assert ended.out.startswith("Done. Gr\\xfc\\xdfe"), "what cannot be printed is escaped"
    assert mock_model.ask("/__bodies")[0]["messages"][-1]["content"] == "grüße 🙂"


WAIT = "echo on; until [ -e GO ]; do sleep 0.05; done; echo x>>MARK"


@pytest.mark.proves("A03")
def test_the_end_of_the_session_stops_the_run_like_ctrl_c(person: Person) -> None:
    prompt = "go @@shell setsid sleep 81.25 & echo on; sleep 81.25 @@"
    with person.started("run", "--json", "--ask", "yes", "--model", MODELS[0], prompt) as child:
        wait_for_progress(child)
        child.send_signal(signal.SIGHUP)
        child.communicate(timeout=20)
    assert child.returncode == 130
    assert_stopped_in_order(person, "sleep 81.25")


@pytest.mark.proves("A03")
def test_a_terminal_that_is_closed_stops_the_run(person: Person) -> None:
    prompt = "go @@shell setsid sleep 82.25 & echo on; sleep 82.25 @@"
    command = [*SHARD, "run", "--ask", "yes", "--model", MODELS[0], prompt]
    terminal = Terminal(command, cwd=person.project, env=person.environ)
    try:
        while not is_running("sleep 82.25"):
            assert terminal.child.poll() is None
        terminal.hang_up()
        assert terminal.child.wait(20) in (1, 130)
    finally:
        terminal.close()
    assert_stopped_in_order(person, "sleep 82.25")


def test_nohup_lets_a_run_outlive_the_session(person: Person) -> None:
    arguments = ["run", "--json", "--ask", "yes", "--model", MODELS[0], f"go @@shell {WAIT} @@"]
    script = f"trap '' HUP; exec {shlex.join([*SHARD, *arguments])}"
    with subprocess.Popen(
        ["bash", "-c", script],
        env=person.environ,
        cwd=person.project,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as child:
        try:
            wait_for_progress(child)
            child.send_signal(signal.SIGHUP)
            Path(person.project, "GO").touch()
            child.communicate(timeout=20)
        finally:
            child.kill()
    assert (child.returncode, person.lines()) == (0, ["x"])


def wait_for_progress(child: subprocess.Popen[bytes]) -> None:
    assert child.stdout is not None
    while True:
        line = child.stdout.readline()
        assert line, "it ended too soon"
        if b'"tool_progress"' in line:
            return


def assert_stopped_in_order(person: Person, command: str) -> None:
    assert not is_running(command)
    entries = read_entries(person.sessions()[0])
    assert [e["status"] for e in entries if e["type"] == "tool_result"] == ["interrupted"]
    assert entries[-1]["outcome"] == "interrupted"


def is_running(command: str) -> bool:
    found = (process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"]))
    return any(" ".join(argv) == command for argv in found)


def test_files_of_the_run_are_for_its_owner_only(person: Person) -> None:
    person.run("hello")
    for path in person.state.rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path
    assert person.state.stat().st_mode & 0o777 == 0o700
