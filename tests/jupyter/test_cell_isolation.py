"""What an agent says appears in its own cell or nowhere, and one kernel does not hear another."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
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
pytestmark = pytest.mark.proves("D02")

IGNORES_TERM = "trap '' TERM INT; echo run$((1 + 1)); sleep 272 & wait; sleep 272"


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory, model_server: MockModel) -> Iterator[Kernel]:
    with open_agent_kernel(tmp_path_factory.mktemp("isolation"), model_server.url) as running:
        assert running.execute(shard("Warm up.")).status == "ok"
        yield running


def is_waiting_for(text: str, cell: CellRun) -> bool:
    datas = [m["content"]["data"] for m in cell.messages if "data" in m["content"]]
    return text in (datas[-1]["text/plain"] if datas else cell.stream())


@pytest.mark.proves("J3.5")
@pytest.mark.parametrize("metadata", [NOTEBOOK, {}], ids=["notebook", "console"])
def test_a_cell_that_was_left_writes_nothing_into_later_ones(
    kernel: Kernel, metadata: dict[str, object], tmp_path: Path
) -> None:
    running = tmp_path / "running"
    os.mkfifo(running)
    command = IGNORES_TERM.replace("echo", f"echo > {running}; echo")
    cell = kernel.start_cell(
        shard(f"Go. @@shell {command}", "--ask yes"), allow_stdin=True, metadata=metadata
    )
    assert running.read_bytes() == b"\n", "the command runs, and ignores signals"
    started = time.monotonic()
    kernel.interrupt()
    # A second one that comes after the end of the cell would hit the kernel's own code.
    kernel.wait_until(cell, lambda run: is_waiting_for("Stopping", run))
    kernel.interrupt()
    kernel.finish(cell, timeout=10)
    assert time.monotonic() - started < 2
    assert cell.error is not None
    assert "You have left it" in str(cell.messages), "it did not wait for the end of the turn"
    told = len(cell.messages)
    for number in range(3):
        later = kernel.execute(
            f"print({number}, flush=True)\nimport asyncio\nawait asyncio.sleep(0.2)\nprint('end')"
        )
        assert later.stream() == f"{number}\nend\n"
        assert {m["msg_type"] for m in later.outputs} == {"stream"}
        assert later.strays == []
    assert len(cell.messages) == told


@pytest.mark.proves("J3.5")
def test_a_context_that_was_copied_from_a_cell_changes_nothing(kernel: Kernel) -> None:
    """A thread that was started in one cell keeps its context; a later cell keeps its own."""
    kernel.execute("import contextvars; kept = contextvars.copy_context()")
    run = kernel.execute(shard("Go. @@text 300 @@delay 2"), allow_stdin=True, metadata=NOTEBOOK)
    assert run.strays == []
    assert "Grüße" in final_bundle(run)["text/plain"]
    code = "kept.run(lambda: get_ipython().run_cell_magic('shard', '--model openai:mock', 'Hi.'))"
    inside = kernel.execute(code)
    assert inside.status == "ok", inside.error


@pytest.mark.proves("J3.3")
def test_a_tool_that_ignores_signals_does_not_hold_up_the_cell_nor_the_next_one(
    kernel: Kernel,
) -> None:
    cell = kernel.start_cell(
        shard(f"Go. @@shell {IGNORES_TERM}", "--ask yes"), allow_stdin=True, metadata=NOTEBOOK
    )
    kernel.wait_until(cell, lambda run: is_waiting_for("run2", run))
    started = time.monotonic()
    kernel.interrupt()
    kernel.finish(cell, timeout=10)
    assert time.monotonic() - started < 2
    assert cell.error is not None
    run = kernel.execute("%%shard --model openai:mock\nAnd now?")
    assert run.status == "ok", run.error
    assert not [line for line in command_lines(descendants(kernel)) if "sleep 272" in line]


@pytest.mark.proves("J3.13")
def test_two_kernels_at_once_do_not_hear_each_other(
    kernel: Kernel, tmp_path: Path, model_server: MockModel
) -> None:
    with open_agent_kernel(tmp_path, model_server.url) as other:
        cells = [
            (each, each.start_cell(shard(f"I am {name}. @@text {size} @@delay 1")))
            for each, name, size in ((kernel, "one", 1000), (other, "two", 1500))
        ]
        for each, cell in cells:
            each.finish(cell)
        one, two = (final_bundle(cell) for _, cell in cells)
        assert cells[0][1].strays == cells[1][1].strays == []
        assert len(one["text/plain"]) + 400 < len(two["text/plain"])
        assert cells[0][1].status == cells[1][1].status == "ok"


@pytest.mark.proves("J3.13")
def test_two_kernels_with_one_home_do_not_hear_each_other(
    tmp_path: Path, model_server: MockModel
) -> None:
    with (
        open_agent_kernel(tmp_path, model_server.url) as one,
        open_agent_kernel(tmp_path, model_server.url) as two,
    ):
        cells = [
            (each, each.start_cell(shard("Go. @@shell echo hi", "--ask yes")))
            for each in (one, two)
        ]
        for each, cell in cells:
            each.finish(cell)
            assert cell.status == "ok", cell.error
        assert len(list((tmp_path / "state" / "sessions").iterdir())) == 2
