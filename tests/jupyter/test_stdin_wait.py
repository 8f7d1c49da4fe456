"""A question that is withdrawn leaves no reader on the stdin socket of a real kernel."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.jupyter.kernel import CellRun, Kernel, open_kernel

pytestmark = pytest.mark.proves("D02", "J3.1")

SETUP = """
import asyncio, threading, builtins
from shard_jupyter.surfaces.magics.cells.inbox import Inbox
from shard_jupyter.surfaces.magics.cells.stdin_line import LineReader
async def ask_and_withdraw(after=None):
    inbox, reader = Inbox(), LineReader(builtins.input)
    thread = inbox.start("line", lambda: reader.read("never answered? "))
    await (asyncio.sleep(0.3) if after is None else after)
    reader.cancel()
    (ended,) = await inbox.take(5)
    thread.join(5)
    return type(ended.error).__name__, thread.is_alive(), ended.value
"""


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    with open_kernel(tmp_path_factory.mktemp("stdin")) as running:
        assert running.execute(SETUP).status == "ok"
        yield running


def next_input(kernel: Kernel, line: str) -> CellRun:
    return kernel.execute("input('name? ')", allow_stdin=True, on_stdin=lambda *_: line)


def test_the_input_of_the_next_cell_gets_its_own_line(kernel: Kernel) -> None:
    cell = kernel.start_cell("await ask_and_withdraw()", allow_stdin=True)
    asked = []
    while not asked:  # the request is taken from the channel and never answered
        asked.append(kernel.client.get_stdin_msg(timeout=10))
    run = kernel.finish(cell)
    assert run.result == "('LineCancelled', False, None)"
    after = next_input(kernel, "Ada")
    assert (after.result, after.asked) == ("'Ada'", ["name? "])


def test_a_late_line_for_a_withdrawn_question_is_not_the_next_answer(kernel: Kernel) -> None:
    cell = kernel.start_cell("await ask_and_withdraw()", allow_stdin=True)
    kernel.client.get_stdin_msg(timeout=10)
    assert kernel.finish(cell).status == "ok"
    kernel.client.input("y")
    kernel.execute("pass")
    assert next_input(kernel, "Ada").result == "'Ada'"


def test_the_loop_lives_while_a_line_is_waited_for(kernel: Kernel) -> None:
    code = """
inbox, reader = Inbox(), LineReader(builtins.input)
inbox.start("line", lambda: reader.read("who? "))
for _ in range(20):
    await asyncio.sleep(0.01)
print("alive", flush=True)
(ended,) = await inbox.take(20)
ended.value
"""
    cell = kernel.start_cell(code, allow_stdin=True)
    kernel.client.get_stdin_msg(timeout=10)
    kernel.wait_until(cell, lambda run: "alive" in run.stream())
    kernel.client.input("Ada")
    assert kernel.finish(cell).result == "'Ada'"
