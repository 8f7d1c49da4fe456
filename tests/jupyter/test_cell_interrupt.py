"""An interrupted cell gives the prompt back in two seconds, leaves no process, the next works."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.fakes.model_server import MockModel, model_server
from tests.jupyter.agent_kernel import (
    NOTEBOOK,
    command_lines,
    descendants,
    final_bundle,
    open_agent_kernel,
    shard,
)
from tests.jupyter.kernel import CellRun, Kernel

__all__ = ["model_server"]
pytestmark = pytest.mark.proves("D02", "J3.3")

SLEEP = "sleep 271"
BACK_SECONDS = 2.0


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("interrupt")


@pytest.fixture(scope="module")
def kernel(folder: Path, model_server: MockModel) -> Iterator[Kernel]:
    with open_agent_kernel(folder, model_server.url) as running:
        assert running.execute(shard("Warm up.")).status == "ok"
        yield running


def shown(text: str) -> Callable[[CellRun], bool]:
    """Whether the last state of the display, or the stream, holds a text."""

    def holds(run: CellRun) -> bool:
        datas = [m["content"]["data"]["text/plain"] for m in run.messages if "data" in m["content"]]
        return text in (datas[-1] if datas else run.stream())

    return holds


def interrupt(kernel: Kernel, cell: CellRun) -> float:
    """Press once; returns after how many seconds the prompt was back."""
    started = time.monotonic()
    kernel.interrupt()
    kernel.finish(cell, timeout=10)
    return time.monotonic() - started


def last_outcome(folder: Path) -> str:
    """How the newest turn of all sessions ended, as its log says."""
    logs = sorted((folder / "state" / "sessions").glob("*/session.jsonl"))
    entries = [json.loads(line) for line in logs[-1].read_bytes().split(b"\n") if line]
    return str(entries[-1].get("outcome"))


def check_stopped(kernel: Kernel, run: CellRun, seconds: float) -> None:
    assert seconds < BACK_SECONDS
    assert run.error is not None
    assert run.error["ename"] == "TurnFailed"
    assert run.error["evalue"].startswith("Stopped. Everything so far is kept.")
    assert len(run.error["traceback"]) == 1
    assert not [line for line in command_lines(descendants(kernel)) if SLEEP in line]
    after = kernel.execute(shard("And now?"))
    assert after.status == "ok", after.error


@pytest.mark.parametrize("metadata", [NOTEBOOK, {}], ids=["notebook", "console"])
def test_a_quiet_stream_is_stopped(kernel: Kernel, metadata: dict[str, object]) -> None:
    cell = kernel.start_cell(
        shard("Go. @@quirk hang @@text 100"), allow_stdin=True, metadata=metadata
    )
    kernel.wait_until(cell, shown("Done."))
    seconds = interrupt(kernel, cell)
    check_stopped(kernel, cell, seconds)


def test_a_tool_is_stopped_with_all_its_processes(kernel: Kernel, folder: Path) -> None:
    command = f"{SLEEP} & {SLEEP}"
    cell = kernel.start_cell(
        shard(f"Go. @@shell {command}", "--ask yes"), allow_stdin=True, metadata=NOTEBOOK
    )
    kernel.wait_until(cell, shown(SLEEP))
    while len([line for line in command_lines(descendants(kernel)) if line == SLEEP]) < 2:
        time.sleep(0.01)
    seconds = interrupt(kernel, cell)
    assert last_outcome(folder) == "interrupted"
    check_stopped(kernel, cell, seconds)


def test_an_open_question_is_withdrawn_and_the_next_input_gets_its_line(kernel: Kernel) -> None:
    cell = kernel.start_cell(shard("Go. @@shell touch never"), allow_stdin=True, metadata=NOTEBOOK)
    kernel.wait_until(cell, shown("touch never"))
    kernel.client.get_stdin_msg(timeout=10)
    seconds = interrupt(kernel, cell)
    assert "touch never" in final_bundle(cell)["text/plain"]
    check_stopped(kernel, cell, seconds)
    run = kernel.execute("input('name? ')", allow_stdin=True, on_stdin=lambda *_: "Ada")
    assert run.result == "'Ada'"


def test_headless_the_record_of_a_stopped_turn_is_shown(
    kernel: Kernel, model_server: MockModel
) -> None:
    model_server.reset()
    cell = kernel.start_cell(shard("Go. @@quirk hang @@text 100"))
    model_server.ask("/__hung")
    seconds = interrupt(kernel, cell)
    assert "■ Stopped" in final_bundle(cell)["text/plain"]
    check_stopped(kernel, cell, seconds)


def test_an_interrupt_counts_also_when_the_cell_may_not_raise(kernel: Kernel) -> None:
    cell = kernel.start_cell(
        shard("Go. @@quirk hang @@text 100", "--no-raise"),
        allow_stdin=True,
        metadata=NOTEBOOK,
    )
    kernel.wait_until(cell, shown("Done."))
    seconds = interrupt(kernel, cell)
    check_stopped(kernel, cell, seconds)


def test_a_cell_that_was_called_by_code_is_stopped_too(kernel: Kernel) -> None:
    line, body = "--model openai:mock --new", "Go. @@quirk hang @@text 100"
    code = f"get_ipython().run_cell_magic('shard', {line!r}, {body!r})"
    cell = kernel.start_cell(code, allow_stdin=True, metadata=NOTEBOOK)
    kernel.wait_until(cell, shown("Done."))
    seconds = interrupt(kernel, cell)
    check_stopped(kernel, cell, seconds)


def test_the_handler_of_the_kernel_is_back_afterwards(kernel: Kernel) -> None:
    code = "import signal; print(signal.getsignal(signal.SIGINT), flush=True)"
    before = kernel.execute(code).stream()
    cell = kernel.start_cell(
        shard("Go. @@quirk hang @@text 100"), allow_stdin=True, metadata=NOTEBOOK
    )
    kernel.wait_until(cell, shown("Done."))
    interrupt(kernel, cell)
    assert kernel.execute(code).stream() == before
    cell = kernel.start_cell("print('go', flush=True)\nimport time; time.sleep(60)")
    kernel.wait_until(cell, lambda run: "go" in run.stream())
    kernel.interrupt()
    run = kernel.finish(cell, timeout=10)
    assert run.error is not None
    assert run.error["ename"] == "KeyboardInterrupt"
