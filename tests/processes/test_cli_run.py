"""`shard run` on a real terminal and with real signals; the agent is scripted."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.fakes.terminal import PATIENCE_SECONDS, Terminal

ROOT = Path(__file__).parent.parent.parent
pytestmark = pytest.mark.proves("B12")
SCRIPTED = [sys.executable, "-m", "tests.unit.surfaces.cli.scripted_agent"]


@pytest.fixture
def open_terminal() -> Iterator[Callable[..., Terminal]]:
    opened: list[Terminal] = []

    def make(script: str, *options: str) -> Terminal:
        opened.append(Terminal([*SCRIPTED, script, *options], cwd=ROOT))
        return opened[-1]

    yield make
    for terminal in opened:
        terminal.close()


def test_text_streams_and_the_run_ends_well(open_terminal: Callable[..., Terminal]) -> None:
    terminal = open_terminal("answers")
    assert terminal.end() == 0
    assert b"Hello.\r\n" in terminal.seen
    assert b"cost unknown" in terminal.seen


def test_questions_come_one_by_one_and_nothing_is_shown_between(
    open_terminal: Callable[..., Terminal],
) -> None:
    terminal = open_terminal("asks_twice_at_once")
    terminal.see(b"> ")
    assert b"First this.\r\n" in terminal.seen
    assert b"second" not in terminal.seen
    terminal.type(b"y\n")
    terminal.see(b"second")
    terminal.see(b"No.")
    terminal.type(b"n use git\n")
    assert terminal.end() == 0
    assert b"decided: allow" in terminal.seen
    assert b"decided: deny use git" in terminal.seen


def test_ctrl_c_stops_the_turn_in_good_order(open_terminal: Callable[..., Terminal]) -> None:
    terminal = open_terminal("hangs")
    terminal.see(b"working")
    terminal.type(b"\x03")
    assert terminal.end() == 130
    assert b"The turn ended as interrupted." in terminal.seen
    assert b"Traceback" not in terminal.seen


def test_ctrl_c_stops_a_turn_that_waits_for_an_answer(
    open_terminal: Callable[..., Terminal],
) -> None:
    terminal = open_terminal("asks_twice_at_once")
    terminal.see(b"> ")
    terminal.type(b"\x03")
    assert terminal.end() == 130
    assert b"decided" not in terminal.seen
    assert b"Traceback" not in terminal.seen


def test_ctrl_c_before_the_agent_is_open_ends_the_start(
    open_terminal: Callable[..., Terminal],
) -> None:
    terminal = open_terminal("hangs_in_opening")
    terminal.see(b"opened")
    terminal.type(b"\x03")
    assert terminal.end() == 130
    assert b"Traceback" not in terminal.seen


def test_a_second_ctrl_c_leaves_at_once_and_leaves_no_child(
    open_terminal: Callable[..., Terminal],
) -> None:
    terminal = open_terminal("cannot_be_stopped")
    terminal.see(b"child ")
    terminal.see(b"\n")
    terminal.type(b"\x03")
    terminal.see(b"stopping")
    terminal.type(b"\x03")
    assert terminal.end() == 130
    child = int(terminal.seen.partition(b"child ")[2].split()[0])
    with contextlib.suppress(psutil.NoSuchProcess):
        psutil.Process(child).wait(timeout=10)
    assert not psutil.pid_exists(child)


def test_the_end_of_the_terminal_input_denies(open_terminal: Callable[..., Terminal]) -> None:
    terminal = open_terminal("asks_twice_at_once")
    terminal.see(b"> ")
    terminal.type(b"\x04")
    terminal.see(b"\n> ", times=2)
    terminal.type(b"\x04")
    assert terminal.end() == 0
    assert terminal.seen.count(b"decided: deny no answer was given") == 2


class Piped:
    """A program whose output a program reads, in a session without a terminal."""

    def __init__(self, script: str, *options: str) -> None:
        self.child = subprocess.Popen(
            [*SCRIPTED, script, *options],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        assert self.child.stdout
        self.out = self.child.stdout

    def end(self) -> tuple[int, bytes, bytes]:
        out, err = self.child.communicate(timeout=PATIENCE_SECONDS)
        return self.child.returncode, out, err


def test_a_pipe_gets_the_final_text_alone() -> None:
    assert Piped("answers").end() == (0, b"The end.\n", b"")


def test_json_lines_and_nothing_else_are_on_stdout() -> None:
    code, out, err = Piped("answers", "--json").end()
    lines = [json.loads(line) for line in out.split(b"\n")[:-1]]
    assert [line["type"] for line in lines] == ["notice", "message_delta"]
    assert (code, err) == (0, b"")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_a_run_without_a_terminal(number: signal.Signals) -> None:
    piped = Piped("hangs", "--json")
    assert b"opened" in piped.out.readline()
    assert b"working" in piped.out.readline()
    piped.child.send_signal(number)
    code, _, err = piped.end()
    assert (code, err) == (130, b"shard: The turn ended as interrupted.\n")


def test_a_reader_that_goes_away_stops_the_turn_without_a_traceback() -> None:
    piped = Piped("talks_for_ever", "--json")
    assert b"opened" in piped.out.readline()
    piped.out.close()
    assert piped.child.wait(PATIENCE_SECONDS) in (1, 130)
    assert piped.child.stderr
    assert b"Traceback" not in piped.child.stderr.read()
    piped.child.stderr.close()


def test_an_agent_that_cannot_be_opened_is_one_line_on_stderr() -> None:
    code, out, err = Piped("cannot_open").end()
    assert (code, out) == (1, b"")
    assert err == b"shard: There is no such model. Choose another.\n"
