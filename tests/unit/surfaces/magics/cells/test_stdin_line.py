"""A wait for a line can be given up from another thread, and leaves no reader behind."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import shard_jupyter
from shard_jupyter.surfaces.magics.cells.stdin_line import LineCancelled, LineReader

ROOT = Path(shard_jupyter.__file__).parents[1]
pytestmark = pytest.mark.proves("D02", "J3.1")


class PolledInput:
    """As the kernel's `input`: polls, so that an exception can get through."""

    def __init__(self) -> None:
        self.line: str | None = None
        self.polling = threading.Event()
        self.readers = 0

    def read(self, prompt: str) -> str:
        self.readers += 1
        try:
            while self.line is None:
                self.polling.set()
                time.sleep(0.001)
            line, self.line = self.line, None
            return line
        finally:
            self.readers -= 1


class Reading:
    """One `read` in a thread."""

    def __init__(self, reader: LineReader) -> None:
        self.result: object = None
        self.thread = threading.Thread(target=self._run, args=(reader,))
        self.thread.start()

    def _run(self, reader: LineReader) -> None:
        try:
            self.result = reader.read("> ")
        except BaseException as error:  # noqa: BLE001
            self.result = error

    def wait(self) -> object:
        self.thread.join(5)
        assert not self.thread.is_alive()
        return self.result


def test_a_line_is_read() -> None:
    source = PolledInput()
    reading = Reading(LineReader(source.read))
    source.line = "yes"
    assert reading.wait() == "yes"


def test_a_wait_that_is_given_up_ends_and_swallows_no_later_line() -> None:
    source = PolledInput()
    reader = LineReader(source.read)
    reading = Reading(reader)
    assert source.polling.wait(5)
    reader.cancel()
    reader.cancel()
    assert isinstance(reading.wait(), LineCancelled)
    assert source.readers == 0
    source.line = "for another"
    assert Reading(LineReader(source.read)).wait() == "for another"


def test_given_up_before_it_began_nothing_is_read() -> None:
    source = PolledInput()
    reader = LineReader(source.read)
    reader.cancel()
    assert isinstance(Reading(reader).wait(), LineCancelled)
    assert not source.polling.is_set()


def test_the_end_of_the_input_is_told() -> None:
    def end(prompt: str) -> str:
        raise EOFError

    assert isinstance(Reading(LineReader(end)).wait(), EOFError)


def test_a_line_and_the_end_of_the_wait_at_the_same_time_hurt_nobody() -> None:
    for _ in range(300):
        source = PolledInput()
        reader = LineReader(source.read)
        reading = Reading(reader)
        assert source.polling.wait(5)
        source.line = "yes"
        reader.cancel()
        assert reading.wait() == "yes" or isinstance(reading.result, LineCancelled)
        assert source.readers == 0


HURRIED = """
import sys, threading, time
from shard_jupyter.surfaces.magics.cells.stdin_line import LineCancelled, LineReader

def hurried(prompt):
    # Comes back while it is being given up, sooner or later than the exception gets there.
    asked.set()
    for _ in range(count % 40):
        time.sleep(0)
    return "yes"

for count in range(400):
    asked = threading.Event()
    reader = LineReader(hurried)
    def read():
        try:
            reader.read("> ")
        except LineCancelled:
            pass
    thread = threading.Thread(target=read)
    thread.start()
    asked.wait()
    reader.cancel()
    thread.join()

def called():
    pass

sys.setprofile(lambda *_: None)
for _ in range(1000):
    called()
sys.setprofile(None)
print("alive")
"""


def test_nothing_waits_for_a_thread_that_gave_up_so_that_profilers_go_on() -> None:
    done = subprocess.run(
        [sys.executable, "-c", HURRIED],
        capture_output=True,
        encoding="utf-8",
        timeout=40,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("alive\n", "")


TRACED_AFTERWARDS = """
import sys, threading, time
from shard_jupyter.surfaces.magics.cells.stdin_line import LineCancelled, LineReader

def cancel_one(ends_at_once):
    polling = threading.Event()
    lines = []
    def read(prompt):
        while not lines:
            polling.set()
            time.sleep(0.0001)
        return lines.pop()
    reader = LineReader(read)
    def run():
        try:
            reader.read("> ")
        except LineCancelled:
            pass
    thread = threading.Thread(target=run)
    thread.start()
    polling.wait()
    if ends_at_once:
        lines.append("yes")
    reader.cancel()
    thread.join()

for number in range(200):
    cancel_one(number % 2)
sys.settrace(lambda *_: None)
cancel_one(False)
sys.settrace(None)
print("alive")
"""


def test_after_a_wait_was_given_up_a_traced_program_goes_on() -> None:
    """A flag of the interpreter that stays set makes the next traced call spin for ever."""
    done = subprocess.run(
        [sys.executable, "-c", TRACED_AFTERWARDS],
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        timeout=20,
        check=True,
    )
    assert done.stdout == b"alive\n"
